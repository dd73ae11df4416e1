import { TOP_TOKENS } from '../../model/token-statistics.js';
import type { PassToken } from '../protocol.js';
import { type Feeds, floats, longs, type Session } from '../session.js';
import { type RunResult, type Runtime, runTexts, type TextRows } from './text-run.js';

/** A text's share of a pass. */
export interface Window extends TextRows {
  /** The tokens that follow its last `targets.length` rows. */
  readonly targets: readonly number[];
}

export interface AttackedWindow extends Window {
  /** Which of the targets the adversary attacks. */
  readonly attacked: readonly boolean[];
}

const STATISTICS = ['logprob', 'entropy', 'margin', 'top_ids', 'top_logprobs'];
const ADVERSARY = ['perturbed_logprob', 'rival', 'rival_before', 'rival_after'];

/**
 * A plain forward pass: the caches end up holding the windows.
 * @param session of a forward graph with `statistics`, for as many texts
 * @returns what the pass says of the targets of each window
 */
export async function runForward(
  session: Session,
  runtime: Runtime,
  windows: readonly Window[],
): Promise<PassToken[][]> {
  const result = await runTexts(session, runtime, windows, scoredFeeds(windows), STATISTICS);
  for (const { cache, start, ids } of windows) cache.length = start + ids.length;
  return readTokens(result, windows, () => null);
}

/**
 * A score pass, with one step size for all windows. It leaves clean keys and values in the caches.
 * @param session of a score graph for as many texts
 */
export async function runScorePass(
  session: Session,
  runtime: Runtime,
  windows: readonly AttackedWindow[],
  alpha: number,
): Promise<PassToken[][]> {
  const feeds: Record<string, Feeds[string]> = {
    ...scoredFeeds(windows),
    alpha: floats(Float32Array.of(alpha), []),
  };
  const attacked = windows.flatMap((window) => window.attacked);
  feeds.attacked = floats(Float32Array.from(attacked, Number), [attacked.length]);
  for (const [t, { start, ids }] of windows.entries()) {
    feeds[`positions.${t}`] = longs(count(start, ids.length), [ids.length]);
    feeds[`past_positions.${t}`] = longs(count(0, start), [start]);
  }
  const present = windows.map((_, t) => windowOutputs(t, runtime.config.layers));
  const wanted = [...STATISTICS, ...ADVERSARY, ...present.flat()];
  const result = await runTexts(session, runtime, windows, feeds, wanted);
  for (const [t, { cache, start, ids }] of windows.entries()) {
    cache.write(
      start,
      ids.length,
      present[t]!.map((name) => result.floats(name)),
    );
  }
  return readTokens(result, windows, readAdversary(result));
}

const count = (from: number, size: number): number[] => Array.from({ length: size }, (_, i) => from + i);

/** Keys and values in turn, layer by layer, as the cache takes them. */
const windowOutputs = (t: number, layers: number): string[] =>
  count(0, layers).flatMap((layer) => [`window_key.${t}.${layer}`, `window_value.${t}.${layer}`]);

function scoredFeeds(windows: readonly Window[]): Feeds {
  let end = 0;
  const rows = windows.flatMap(({ ids, targets }) => {
    end += ids.length;
    return count(end - targets.length, targets.length);
  });
  const targets = windows.flatMap((window) => window.targets);
  return { rows: longs(rows, [rows.length]), targets: longs(targets, [rows.length]) };
}

function readTokens(
  result: RunResult,
  windows: readonly Window[],
  adversary: (row: number) => PassToken['adversary'],
): PassToken[][] {
  const [logprob, entropy, margin, topLogprobs] = ['logprob', 'entropy', 'margin', 'top_logprobs'].map(
    (name) => result.floats(name),
  );
  const topIds = result.ids('top_ids');
  let row = -1;
  return windows.map(({ targets }) =>
    targets.map(() => {
      row += 1;
      const first = row * TOP_TOKENS;
      const top = count(first, TOP_TOKENS).map((k) => ({ id: topIds[k]!, logprob: topLogprobs![k]! }));
      return {
        logprob: logprob![row]!,
        entropy: entropy![row]!,
        margin: margin![row]!,
        top,
        adversary: adversary(row),
      };
    }),
  );
}

function readAdversary(result: RunResult) {
  const [perturbed, before, after] = ['perturbed_logprob', 'rival_before', 'rival_after'].map((name) =>
    result.floats(name),
  );
  const rival = result.ids('rival');
  return (row: number): PassToken['adversary'] => ({
    perturbedLogprob: perturbed![row]!,
    rival: { id: rival[row]!, before: before![row]!, after: after![row]! },
  });
}
