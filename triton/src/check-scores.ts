import {
  byTokenStatistic,
  type FromScore,
  type ModelSource,
  type PassMessage,
  type RecordedScores,
  ScoreWorker,
  type ScoreWorkerOptions,
  TOKEN_STATISTICS,
} from 'flinch/engine-server';
import { ServerFault } from './server-fault.js';

type Score = RecordedScores['scores'][number];

/** Tokens of the text, of which the first have no score. */
const LENGTH = 40;
const PROMPT = 8;

/** Nats. TF32 and half precision differ by more. */
const TOLERANCE = 1e-3;
/** Tolerance as a share of the largest fall: rounding may turn the sign of a gradient near zero. */
const FALL_SHARE = 0.02;
const LEAST_FALL = 1e-4;

type TextRun = Pick<ScoreWorkerOptions, 'sessions' | 'held' | 'source'> & { readonly alpha: number };

const HALF = (PROMPT + LENGTH) / 2;

/** Scores of {@link scoreWhole}, which come before those of {@link scoreParts}. */
export const WHOLE_SCORES = HALF - PROMPT + 2 * (LENGTH - HALF);

/** Scores a text in three passes, one run each. */
export function scoreWhole({ alpha, ...run }: TextRun): Promise<Score[]> {
  const ids = textOf(run.source);
  const adversary = { alpha, form: 'perturb' } as const;
  return runPasses({ ...run, threads: 1 }, [
    { newIds: ids.slice(0, HALF), start: 0, from: PROMPT, to: HALF, adversary },
    { newIds: ids.slice(HALF), start: PROMPT, from: HALF, to: LENGTH, adversary },
    { newIds: [], start: PROMPT, from: HALF, to: LENGTH, adversary: null },
  ]);
}

/** Next to no threads: no run may take long, and the window has as many parts as there can be. */
export function scoreParts({ alpha, ...run }: TextRun): Promise<Score[]> {
  const adversary = { alpha, form: 'perturb' } as const;
  return runPasses({ ...run, threads: 1e-9 }, [
    { newIds: textOf(run.source), start: 0, from: PROMPT, to: LENGTH, adversary },
  ]);
}

const textOf = ({ config: { vocabSize } }: ModelSource): number[] =>
  Array.from({ length: LENGTH }, (_, i) => (i * 7919 + 13) % vocabSize);

async function runPasses(
  options: Omit<ScoreWorkerOptions, 'send' | 'contextLength'>,
  passes: readonly Omit<PassMessage, 'type' | 'stream'>[],
): Promise<Score[]> {
  let answered: (answer: FromScore) => void = () => {};
  const worker = new ScoreWorker({
    ...options,
    contextLength: LENGTH,
    send: (message) => answered(message),
  });
  const scores: Score[] = [];
  for (const pass of passes) {
    const answer = await new Promise<FromScore>((resolve) => {
      answered = resolve;
      worker.pass({ type: 'pass', stream: 0, ...pass });
    });
    if (answer.type !== 'scored') {
      throw new ServerFault(answer.type === 'failed' ? answer.message : `unexpected ${answer.type}`);
    }
    for (const token of answer.tokens) {
      const { logprob, adversary } = token;
      scores.push({
        ...byTokenStatistic((name) => token[name]),
        logprob,
        fall: adversary?.fall ?? null,
      });
    }
  }
  worker.release(0);
  return scores;
}

/** @throws ServerFault where the scores of a server are not the recorded ones, up to rounding */
export function checkScores(actual: readonly Score[], recorded: readonly Score[]): void {
  const largest = Math.max(LEAST_FALL, ...recorded.map(({ fall }) => Math.abs(fall ?? 0)));
  const tolerances = {
    logprob: TOLERANCE,
    ...byTokenStatistic(() => TOLERANCE),
    fall: FALL_SHARE * largest,
  };
  if (actual.length !== recorded.length) {
    throw new ServerFault(`it scores ${actual.length} tokens instead of ${recorded.length}`);
  }
  for (const [i, expected] of recorded.entries()) {
    for (const name of ['logprob', ...TOKEN_STATISTICS, 'fall'] as const) {
      const [a, b] = [actual[i]![name], expected[name]];
      // NaN is no difference within it.
      if (a === b || (a !== null && b !== null && Math.abs(a - b) <= tolerances[name])) continue;
      throw new ServerFault(`its scores are not those of the export: ${name} ${a} instead of ${b}`);
    }
  }
}
