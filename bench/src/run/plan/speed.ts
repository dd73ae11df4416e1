import { samplesNeeded } from '../../measures/measure.js';
import { scoreMeasures } from '../../measures/score-measures.js';
import type { BenchProblem } from '../../suites/suite.js';
import { promptOf } from '../problem-prompt.js';
import type { Run } from '../run-context.js';
import { write } from '../stages/generate-stage.js';

/** Tokens of a response that is written to measure the speed, and to see whether responses are short. */
const WRITTEN = 128;
const SCORED = 64;
/** Responses that are written at once to measure the speed. */
const STREAMS = 8;

/** @returns tokens in a second of all streams together; and those of a response, if most have ended */
export async function measureWriting(run: Run, problems: readonly BenchProblem[]) {
  const { temperature, maxTokens } = run.settings;
  const some = problems.slice(0, Math.min(STREAMS, run.streams));
  const writeAll = (tokens: number) =>
    Promise.all(
      some.map((problem) =>
        write(run, problem, { temperature, sample: 0, maxTokens: Math.min(tokens, maxTokens) }),
      ),
    );
  await writeAll(1); // sessions open on first use
  const start = performance.now();
  const written = await writeAll(WRITTEN);
  const seconds = (performance.now() - start) / 1000;
  const tokens = written.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  const ended = written.filter(({ finish }) => finish === 'stop');
  return {
    perSecond: Math.max(1, tokens) / seconds,
    // If most responses have ended, the others are about to.
    length: 2 * ended.length > written.length ? Math.ceil(tokens / written.length) : null,
  };
}

/**
 * Scores a text of the first tokens of the prompt: which they are makes no difference. The time goes by positions.
 * @returns seconds for a response of so many tokens
 */
export async function measureScoring(
  run: Run,
  problem: BenchProblem,
  responseTokens: number,
): Promise<number> {
  const { engine, suite, settings, encoders } = run;
  // Graphs of claims are what a judge makes: the rest of that measure takes no time.
  const measures = run.measures.filter(({ kind }) => kind !== 'claim_graph');
  const promptIds = promptOf(engine.checkpoint, suite, problem, settings.system);
  const scored = async (tokens: number): Promise<number> => {
    const tokenIds = Array.from({ length: tokens }, (_, i) => promptIds[i % promptIds.length]!);
    const tokenTexts = tokenIds.map((_, i) => (i % 16 === 15 ? '.\n' : ' x'));
    const sample = { text: tokenTexts.join(''), agrees: false, seconds: 0 };
    const start = performance.now();
    await scoreMeasures(
      engine,
      {
        promptIds,
        question: problem.question,
        tokenIds,
        tokenTexts,
        stepMode: 'paragraph',
        steps: [[0, tokens]],
        samples: Array.from({ length: samplesNeeded(measures) }, () => sample),
      },
      measures,
      encoders,
    );
    return (performance.now() - start) / 1000;
  };
  const tokens = Math.max(1, Math.min(SCORED, responseTokens, engine.contextLength - promptIds.length));
  await scored(1); // sessions open on first use
  return ((await scored(tokens)) * (promptIds.length + responseTokens)) / (promptIds.length + tokens);
}
