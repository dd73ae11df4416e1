import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Engine } from '#src/engine/engine.js';
import type { GenerateRequest } from '#src/engine/generation.js';
import { parseJsonLines } from '#src/files/json-lines.js';
import type { TokenStatistics } from '#src/numerics/token-statistics.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';

export interface Answer {
  readonly promptIds: readonly number[];
  readonly ids: readonly number[];
  /** Text of each token. */
  readonly texts: readonly string[];
  /** Statistics of each token from the process that writes, in the precision of writing. */
  readonly written: readonly Written[];
}

export interface Written extends TokenStatistics {
  readonly nll: number;
}

const questionSchema = z.object({ question: z.string() });

/**
 * Questions of a file of JSON Lines: of problems, or of anything else that has a question.
 * @throws UsageError that names the first line that has none
 */
export async function readQuestions(file: string): Promise<string[]> {
  const lines = parseJsonLines(await readFile(file, 'utf8'), questionSchema);
  return lines.map(({ question }) => question);
}

export async function answer(
  engine: Engine,
  question: string,
  sampling: GenerateRequest['sampling'],
): Promise<Answer> {
  const promptIds = encodePrompt(engine.checkpoint, [{ role: 'user', content: question }]);
  const generation = await engine.generate({
    promptIds,
    statistics: true,
    sampling,
  });
  const [ids, texts, written]: [number[], string[], Written[]] = [[], [], []];
  for (;;) {
    const item = await generation.next();
    if (item.type === 'end') return { promptIds, ids, texts, written };
    ids.push(item.id);
    texts.push(item.text);
    written.push({ nll: -item.logprob, ...item.statistics! });
  }
}
