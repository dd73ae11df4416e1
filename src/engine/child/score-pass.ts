import { byTokenStatistic, TOKEN_STATISTICS } from '../../numerics/token-statistics.js';
import type { Adversary, PassMessage, PassToken, TokenProbability } from '../engine-messages.js';
import { type Feeds, floats, type GraphRunner, longs } from '../ort-session.js';
import { count, type RunResult, type Runtime, runSequences, type SequenceRows } from './sequence-run.js';

/** A sequence's share of a pass. */
export interface Window extends SequenceRows {
  /** The tokens that follow its last `targets.length` rows. */
  readonly targets: readonly number[];
}

export interface AttackedWindow extends Window {
  /** Whether the adversary attacks each target. */
  readonly attacked: readonly boolean[];
  /** 1 − p of each target, for rounded products. */
  readonly doubts?: readonly number[];
}

/** Outputs of `outputStatistics`. */
export const STATISTICS = ['logprob', ...TOKEN_STATISTICS, 'top_ids', 'top_logprobs'];

/** Further outputs of a graph with an adversary. */
export const ADVERSARY: Readonly<Record<Adversary['form'], readonly string[]>> = {
  perturb: ['perturbed_logprob', 'rival', 'rival_before', 'rival_after'],
  derivative: ['derivative', 'rival', 'rival_before', 'rival_after'],
};

/** How many of the most probable tokens are wanted, where that is not the usual number. */
export type Top = Pick<PassMessage, 'top'>;

export type Step = Pick<Adversary, 'form' | 'alpha'>;

/**
 * A plain forward pass: the caches end up holding the windows.
 * @param session of a forward graph with `statistics`, for as many sequences
 * @returns what the pass says of the targets of each window
 */
export async function runForward(
  session: GraphRunner,
  runtime: Runtime,
  windows: readonly Window[],
): Promise<PassToken[][]> {
  const result = await runSequences(session, runtime, windows, scoredFeeds(windows), STATISTICS);
  return readTokens(result, STATISTICS, windows, null);
}

/**
 * A score pass, of one form and with one step size for all windows.
 * @param session of a score graph of that form for as many sequences
 */
export async function runScorePass(
  session: GraphRunner,
  runtime: Runtime,
  windows: readonly AttackedWindow[],
  step: Step,
): Promise<PassToken[][]> {
  const feeds: Feeds = {
    ...attackedFeeds(windows),
    alpha: floats(Float32Array.of(step.alpha), [1]),
  };
  const clean = session.outputNames.includes('logprob') ? STATISTICS : [];
  const wanted = [...clean, ...ADVERSARY[step.form]];
  const result = await runSequences(session, runtime, windows, feeds, wanted);
  return readTokens(result, wanted, windows, step);
}

/** `rows` and `targets`: what is scored. */
export function scoredFeeds(windows: readonly Window[]): Feeds {
  let end = 0;
  const rows = windows.flatMap(({ ids, targets }) => {
    end += ids.length;
    return count(end - targets.length, targets.length);
  });
  const targets = windows.flatMap((window) => window.targets);
  return { rows: longs(rows, [rows.length]), targets: longs(targets, [rows.length]) };
}

/** What is scored, and how it is attacked. */
export function attackedFeeds(windows: readonly AttackedWindow[]): Feeds {
  const attacked = windows.flatMap((window) => window.attacked.map(Number));
  const doubts = windows.flatMap((window) => window.doubts ?? []);
  return {
    ...scoredFeeds(windows),
    attacked: floats(Float32Array.from(attacked), [attacked.length]),
    ...(doubts.length > 0 && { doubts: floats(Float32Array.from(doubts), [doubts.length]) }),
  };
}

/**
 * Results for the targets of each window, from one run.
 * @param wanted names of its outputs
 */
export function readTokens(
  result: RunResult,
  wanted: readonly string[],
  windows: readonly Pick<Window, 'targets'>[],
  step: Step | null,
): PassToken[][] {
  const probability = wanted.includes('logprob') ? readProbability(result) : null;
  const adversary = step && readAdversary(result, step);
  let row = -1;
  return windows.map(({ targets }) =>
    targets.map(() => {
      row += 1;
      return { probability: probability?.(row) ?? null, adversary: adversary?.(row) ?? null };
    }),
  );
}

function readProbability(result: RunResult): (row: number) => TokenProbability {
  const [logprob, topLogprobs] = ['logprob', 'top_logprobs'].map((name) => result.floats(name));
  const statistics = byTokenStatistic((name) => result.floats(name));
  const topIds = result.ids('top_ids');
  const k = result.tensor('top_ids').dims[1]!;
  return (row) => ({
    logprob: logprob![row]!,
    ...byTokenStatistic((name) => statistics[name][row]!),
    top: count(row * k, k).map((i) => ({ id: topIds[i]!, logprob: topLogprobs![i]! })),
  });
}

function readAdversary(result: RunResult, step: Step) {
  const [rivalBefore, rivalAfter] = ['rival_before', 'rival_after'].map((name) => result.floats(name));
  const rival = result.ids('rival');
  const fall = fallOf(result, step);
  return (row: number): PassToken['adversary'] => ({
    fall: fall(row),
    // A first-order approximation of a probability may exceed 1.
    rival: { id: rival[row]!, before: rivalBefore![row]!, after: Math.min(1, rivalAfter![row]!) },
  });
}

/** f − f̂, or α times the derivative of f along the step. */
function fallOf(result: RunResult, { form, alpha }: Step): (row: number) => number {
  if (form === 'derivative') {
    const derivative = result.floats('derivative');
    return (row) => alpha * derivative[row]!;
  }
  const [logprob, perturbed] = [result.floats('logprob'), result.floats('perturbed_logprob')];
  return (row) => logprob[row]! - perturbed[row]!;
}
