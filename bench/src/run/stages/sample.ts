import { reckoned } from 'flinch/internals';
import { mean } from 'simple-statistics';
import { each } from '../../concurrent-map.js';
import { samplesNeeded } from '../../measures/measure.js';
import { scoredIn } from '../../records/selection.js';
import type { Run } from '../run-context.js';
import { sampleKey } from '../run-folder.js';
import { unwritten, write } from './generate.js';

/** Draws further responses to the problems whose responses are scored, as many as the measures ask for. */
export async function sampleResponses(run: Run): Promise<void> {
  const { suite, problems, isMine, records, rule, settings, measures, streams, writer, signal } = run;
  const { sampleTemperature: temperature, maxTokens } = settings;
  const scored = scoredIn(suite, problems, records, rule);
  const numbers = Array.from({ length: samplesNeeded(measures) }, (_, i) => i + 1);
  const all = problems
    .filter((problem) => isMine(problem) && scored.has(problem.id))
    .flatMap((problem) => numbers.map((sample) => ({ problem, sample })));
  const missing = all.filter(
    ({ problem: { id }, sample }) => !records.samples.has(sampleKey({ id, sample })),
  );
  const absent = missing.filter(({ problem: { id }, sample }) => !writer.has({ id, sample }));
  if (absent[0])
    throw unwritten(absent.length, `a further response to ${JSON.stringify(absent[0].problem.id)}`);
  await each(
    'sample',
    missing,
    async ({ problem, sample }) => {
      const { id } = problem;
      const start = performance.now();
      const { tokenTexts, logprobs, finish } = await write(run, problem, { temperature, sample, maxTokens });
      const seconds = (performance.now() - start) / 1000;
      const text = tokenTexts.join('');
      const nll = meanNll(logprobs ?? []);
      const tokens = tokenTexts.length;
      records.samples.add({ id, sample, text, tokens, ...(nll !== null && { nll }), finish, seconds });
    },
    { concurrency: streams, done: all.length - missing.length, signal },
  );
}

/** @returns `null` if there are no tokens, or one is not told, or as one that cannot be */
export function meanNll(logprobs: readonly (number | null)[]): number | null {
  const known = logprobs.flatMap((logprob) => reckoned(logprob) ?? []);
  return known.length < logprobs.length || known.length === 0 ? null : -mean(known);
}
