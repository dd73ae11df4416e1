import { each } from '../../concurrent-map.js';
import { samplesNeeded } from '../../measures/measure.js';
import { scoredIn } from '../../records/selection.js';
import type { Run } from '../run-context.js';
import { sampleKey } from '../run-folder.js';
import { write } from './generate-stage.js';

/** Draws further responses to the problems whose responses are scored, as many as the measures ask for. */
export async function sampleResponses(run: Run): Promise<void> {
  const { suite, problems, records, rule, settings, measures, streams, signal } = run;
  const { sampleTemperature: temperature, maxTokens } = settings;
  const scored = scoredIn(suite, problems, records, rule);
  const numbers = Array.from({ length: samplesNeeded(measures) }, (_, i) => i + 1);
  const all = problems
    .filter((problem) => scored.has(problem.id))
    .flatMap((problem) => numbers.map((sample) => ({ problem, sample })));
  const missing = all.filter(
    ({ problem: { id }, sample }) => !records.samples.has(sampleKey({ id, sample })),
  );
  await each(
    'sample',
    missing,
    async ({ problem, sample }) => {
      const { id } = problem;
      const start = performance.now();
      const { tokenTexts, finish } = await write(run, problem, { temperature, sample, maxTokens });
      const seconds = (performance.now() - start) / 1000;
      const text = tokenTexts.join('');
      records.samples.add({ id, sample, text, tokens: tokenTexts.length, finish, seconds });
    },
    { concurrency: streams, done: all.length - missing.length, signal },
  );
}
