import { each } from '../../concurrent-map.js';
import { samplesNeeded } from '../../measures/measure.js';
import { timeMeasure } from '../../measures/score-measures.js';
import { peakGrowth } from '../../process-memory.js';
import type { TimeRecord } from '../../records/records.js';
import { scoredIn } from '../../records/selection.js';
import type { BenchProblem } from '../../suites/suite.js';
import type { Run } from '../run-context.js';
import { writeByEngine } from '../writer/engine-responses.js';
import type { DrawnSample } from './further-responses.js';
import { questionOf, type Writing } from './generate-stage.js';
import { scorable } from './score-stage.js';

/**
 * Measures the time of each measure alone, and of writing as many tokens, for the first scored responses in
 * the problems' order: sequentially, without other work, all measures of a response in turn.
 */
export async function timeMeasures(run: Run): Promise<void> {
  const { suite, problems, records, rule, timed, signal } = run;
  const scored = scoredIn(suite, problems, records, rule);
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
  // The time is measured with this engine, whoever the writer was.
  const write = async (writing: Writing, { pastEnd = false } = {}) => {
    const question = questionOf(run, problem, writing)!;
    return seconds(() =>
      pastEnd
        ? writeByEngine(engine, { ...question, stop: [] }, [])
        : writeByEngine(engine, question, engine.checkpoint.eosTokenIds),
    );
  };
  const [generation] = await write({ temperature, sample: 0, maxTokens: tokens }, { pastEnd: true });
  const samples: DrawnSample[] = [];
  for (let sample = 1; sample <= samplesNeeded(run.measures); sample += 1) {
    const [taken, { tokenTexts, finish }] = await write({
      temperature: sampleTemperature,
      sample,
      maxTokens,
    });
    samples.push({ text: tokenTexts.join(''), finish, seconds: taken });
  }
  const response = scorable(run, problem, samples);
  const measures: Record<string, number> = {};
  const memory: Record<string, number> = {};
  for (const measure of run.measures) {
    // Its time would be the judge's.
    if (measure.kind === 'claim_graph') continue;
    const { result, bytes } = await peakGrowth(engine.status().score.pid, () =>
      timeMeasure(engine, response, measure, encoders),
    );
    measures[measure.name] = result;
    if (bytes !== null) memory[measure.name] = bytes;
  }
  return { id, tokens, generation, measures, memory };
}

async function seconds<T>(work: () => Promise<T>): Promise<readonly [number, T]> {
  const start = performance.now();
  const result = await work();
  return [(performance.now() - start) / 1000, result];
}
