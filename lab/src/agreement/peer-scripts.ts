import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { readText } from 'flinch-client/protocol';
import { z } from 'zod';
import { parseJsonLines } from '#src/files/json-lines.js';
import { pythonOf } from '../peers/folder.js';

/** Bytes of a script's output: a line of some kilobytes for each answer. */
const MOST_BYTES = 256 << 20;

const SCRIPTS = new URL('../../scripts/', import.meta.url);
export const scriptFile = (name: string): string => fileURLToPath(new URL(name, SCRIPTS));

const versions = z.object({ versions: z.record(z.string(), z.string()) });
const seconds = z.record(z.string(), z.number());
const answer = z.object({ question: z.int(), sample: z.int(), seconds });
const question = z.object({ question: z.int() });
const numbers = z.array(z.number());

/** Output of each script, a line for each answer or question. */
export const POLYGRAPH = z.union([
  versions,
  answer.extend({
    perplexity: z.number(),
    sequence: z.number(),
    entropy: z.number(),
    tokens: z.object({ nll: numbers, entropy: numbers }),
    with_end: z.object({ perplexity: z.number(), entropy: z.number() }),
  }),
  answer.extend({ ccp: z.number(), ccp_tokens: numbers, token_sar: z.number() }),
  question.extend({ rouge_l: z.number(), bleu: z.number() }),
  question.extend({ own: z.object({ tokens: z.array(z.int()), perplexity: z.number() }), seconds }),
]);
export const UQLM = z.union([
  versions,
  answer.extend({
    sequence_probability: z.number(),
    min_probability: z.number(),
    mean_token_negentropy: z.number(),
    probability_margin: z.number(),
  }),
  question.extend({ monte_carlo_probability: z.number(), cosine: z.number(), match: z.number(), seconds }),
  z.object({ graph: z.int(), closeness: numbers }),
]);
export const THINKBOOSTER = z.union([
  versions,
  answer.extend({ pd_gap: z.number(), entropy: z.number() }),
  question.extend({ votes: numbers, answers: z.array(z.string()) }),
]);

/**
 * Runs a script of `lab/scripts` in its environment, on one thread and without a hub.
 * @throws Error with the last lines of what it said, if it fails
 */
export async function runScript(
  environment: string,
  script: string,
  args: readonly string[],
  input = '',
): Promise<string> {
  const child = spawn(pythonOf(environment), [scriptFile(script), ...args], {
    env: {
      ...process.env,
      HF_HUB_OFFLINE: '1',
      TOKENIZERS_PARALLELISM: 'false',
      PYTHONDONTWRITEBYTECODE: '1',
      OMP_NUM_THREADS: '1',
      MKL_NUM_THREADS: '1',
      OPENBLAS_NUM_THREADS: '1',
    },
  });
  child.stdin.on('error', () => {}).end(input);
  const code = new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  const text = (stream: Readable): Promise<string> => readText(Readable.toWeb(stream), MOST_BYTES);
  const [output, problems, status] = await Promise.all([text(child.stdout), text(child.stderr), code]);
  if (status !== 0)
    throw new Error(`${script} failed:\n${problems.trimEnd().split('\n').slice(-15).join('\n')}`);
  return output;
}

/** Its results; libraries print other lines between them. */
export const resultsOf = <T>(output: string, schema: z.ZodType<T>): T[] =>
  parseJsonLines(
    output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .join('\n'),
    schema,
  );
