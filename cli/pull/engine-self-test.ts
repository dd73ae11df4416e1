import { lastValueFrom, toArray } from 'rxjs';
import type { Engine } from '../../src/engine/engine.js';
import { UsageError } from '../../src/files/file-errors.js';
import { scoredGeneration } from '../../src/stream/scored-generation.js';
import { encodePrompt, encodeText } from '../../src/tokenizer/prompt.js';
import { scoreResponse } from '../../src/uncertainty/sequence-scorer.js';
import { DEFAULT_SCORING } from '../../src/uncertainty/settings.js';

const QUESTION = 'What is the capital of France?';
const TOKENS = 16;
/**
 * Difference between a score of a pass while the text is written and afterwards; graphs of other sizes round
 * differently. The other scores come from the process that writes, which may round to int8.
 */
const TOLERANCE = 1e-3;

export interface SelfTest {
  /** Text that the model writes, greedily. */
  readonly text: string;
  readonly tokens: number;
  /** The largest difference between a score of a pass in the stream and that of the finished text. */
  readonly difference: number;
}

/**
 * Lets a model write some tokens, and scores them while they are written and once more afterwards.
 * @throws UsageError where a score is no number, or the two differ; EngineError
 */
export async function selfTest(engine: Engine): Promise<SelfTest> {
  const { checkpoint } = engine;
  const promptIds =
    checkpoint.chatTemplate.source === null
      ? encodeText(checkpoint.tokenizer, QUESTION)
      : encodePrompt(checkpoint, [{ role: 'user', content: QUESTION }]);
  const request = { promptIds, maxTokens: TOKENS, sampling: { temperature: 0 } };
  const events = await lastValueFrom(scoredGeneration(engine, request, DEFAULT_SCORING).pipe(toArray()));
  const written = events.filter((event) => event.type === 'token.delta');
  const ids = written.flatMap(({ id }) => id ?? []);
  const streamed = new Map(
    events.flatMap((event) => (event.type === 'score.delta' ? [[event.index, event.scores] as const] : [])),
  );
  const { tokens } = await scoreResponse(engine, promptIds, ids, DEFAULT_SCORING);
  let difference = 0;
  for (const [index, { scores }] of tokens.entries()) {
    for (const method of DEFAULT_SCORING.methods) {
      const [now, then] = [scores[method] ?? Number.NaN, streamed.get(index)?.[method] ?? Number.NaN];
      if (!Number.isFinite(now) || !Number.isFinite(then))
        throw new UsageError(
          `self-test: ${method} of token ${index + 1} is ${then} in the stream, ${now} afterwards`,
        );
      if (method === 'adversarial') difference = Math.max(difference, Math.abs(now - then));
    }
  }
  if (difference > TOLERANCE)
    throw new UsageError(
      `self-test: scores in the stream differ by ${difference} from those of the finished text`,
    );
  return { text: written.map(({ text }) => text).join(''), tokens: ids.length, difference };
}
