import { byTokenStatistic, TOKEN_STATISTICS } from '../../numerics/token-statistics.js';
import { ScoreWorker, type ScoreWorkerOptions } from '../child/score-worker.js';
import type { FromScore } from '../engine-messages.js';
import type { RecordedScores } from './score-servers.js';
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

/** Scores a text in three passes, one run each. */
export async function scoreText({ alpha, ...run }: TextRun): Promise<Score[]> {
  const ids = Array.from({ length: LENGTH }, (_, i) => (i * 7919 + 13) % run.source.config.vocabSize);
  const adversary = { alpha, form: 'derivative' } as const;
  const passes = [
    { newIds: ids.slice(0, HALF), start: 0, from: PROMPT, to: HALF, adversary },
    { newIds: ids.slice(HALF), start: PROMPT, from: HALF, to: LENGTH, adversary },
    { newIds: [], start: PROMPT, from: HALF, to: LENGTH, adversary: null },
  ];
  let answered: (answer: FromScore) => void = () => {};
  const worker = new ScoreWorker({
    ...run,
    threads: 1,
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
    for (const { probability, adversary } of answer.tokens) {
      const { logprob, ...rest } = probability!;
      scores.push({ ...byTokenStatistic((name) => rest[name]), logprob, fall: adversary?.fall ?? null });
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
  if (actual.length > recorded.length) {
    throw new ServerFault(`it scores ${actual.length} tokens instead of ${recorded.length}`);
  }
  for (const [i, score] of actual.entries()) {
    const expected = recorded[i]!;
    for (const name of ['logprob', ...TOKEN_STATISTICS, 'fall'] as const) {
      const [a, b] = [score[name], expected[name]];
      // NaN is no difference within it.
      if (a === b || (a !== null && b !== null && Math.abs(a - b) <= tolerances[name])) continue;
      throw new ServerFault(`its scores are not those of the export: ${name} ${a} instead of ${b}`);
    }
  }
}
