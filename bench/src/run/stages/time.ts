import { each } from '../../concurrent-map.js';
import { samplesNeeded } from '../../measures/measure.js';
import { timeMeasure } from '../../measures/score-measures.js';
import type { BenchProblem } from '../../suites/suite.js';
import type { TimeRecord } from '../records.js';
import type { Run } from '../run-context.js';
import { seedOf } from '../seeds.js';
import { scoredIn } from '../selection.js';
import { write } from './generate.js';
import { type DrawnSample, scorable } from './score.js';

/**
 * What each measure takes by itself, and what writing as many tokens takes, for the first scored responses in the
 * problems' order: one thing after the other, with nothing else under way, all measures of a response in turn.
 */
export async function timeMeasures(run: Run): Promise<void> {
  const { problems, records, settings, timed, signal } = run;
  const scored = scoredIn(run.suite, problems, records, settings);
  const all = problems.filter(({ id }) => scored.has(id)).slice(0, timed);
  const missing = all.filter(({ id }) => !records.times.has(id));
  // Sessions open on first use.
  if (missing[0]) await time(run, missing[0]);
  await each('time', missing, async (problem) => void records.times.add(await time(run, problem)), {
    concurrency: 1,
    done: all.length - missing.length,
    signal,
  });
}

async function time(run: Run, problem: BenchProblem): Promise<TimeRecord> {
  const { engine, settings, records, encoders } = run;
  const { id } = problem;
  const tokens = records.responses.get(id)!.tokenIds.length;
  const { temperature, sampleTemperature, maxTokens } = settings;
  const seed = seedOf(settings.seed, id);
  const [generation] = await seconds(() =>
    write(run, problem, { temperature, seed, maxTokens: tokens, endless: true }),
  );
  const samples: DrawnSample[] = [];
  for (let sample = 1; sample <= samplesNeeded(run.measures); sample += 1) {
    const writing = { temperature: sampleTemperature, seed: seedOf(settings.seed, id, sample), maxTokens };
    const [taken, { tokenTexts, finish }] = await seconds(() => write(run, problem, writing));
    samples.push({ text: tokenTexts.join(''), finish, seconds: taken });
  }
  const response = scorable(run, problem, samples);
  const measures: Record<string, number> = {};
  for (const measure of run.measures) {
    measures[measure.name] = await timeMeasure(engine, response, measure, encoders);
  }
  return { id, tokens, generation, measures };
}

async function seconds<T>(work: () => Promise<T>): Promise<readonly [number, T]> {
  const start = performance.now();
  const result = await work();
  return [(performance.now() - start) / 1000, result];
}
