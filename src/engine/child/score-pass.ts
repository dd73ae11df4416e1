import type { ModelConfig } from '../../model/config.js';
import type { RotaryEmbedding } from '../../model/rope.js';
import { TOP_TOKENS } from '../../model/token-statistics.js';
import type { ScoreCache } from '../kv-cache.js';
import type { PassToken } from '../protocol.js';
import { type Feeds, floats, longs, type Session } from '../session.js';

/** One text's part of a run: positions `start` to `start + ids.length − 1`, of which the last rows are scored. */
export interface Window {
  readonly cache: ScoreCache;
  readonly start: number;
  readonly ids: readonly number[];
  /** The tokens that follow the last `targets.length` positions. */
  readonly targets: readonly number[];
}

export interface WindowResult {
  readonly tokens: readonly PassToken[];
  /** Clean keys and values of the window, per layer. */
  readonly layers: readonly { readonly key: Float32Array; readonly value: Float32Array }[];
}

/** A position that no query of a text can see: padding of the shorter texts of a batch, in windows and pasts. */
const UNSEEN = 2 ** 40;

/**
 * Runs a score graph over several windows at once. Windows and their pasts are padded to the longest.
 * @param alpha step of the adversary; `null` for a graph without one
 */
export async function runPass(
  session: Session,
  config: ModelConfig,
  rotary: RotaryEmbedding,
  windows: readonly Window[],
  alpha: number | null,
): Promise<WindowResult[]> {
  const result = await session.run(feedsFor(config, rotary, windows, alpha));
  const read = (name: string): Float32Array => {
    const data = result[name]?.data;
    if (!(data instanceof Float32Array)) throw new Error(`the score graph returned no ${name}`);
    return data;
  };
  const readIds = (name: string): number[] => {
    const data = result[name]?.data;
    if (!(data instanceof BigInt64Array)) throw new Error(`the score graph returned no ${name}`);
    return Array.from(data, Number);
  };
  const [logprob, entropy, margin, topLogprobs] = ['logprob', 'entropy', 'margin', 'top_logprobs'].map(read);
  const topIds = readIds('top_ids');
  const adversary = alpha === null ? null : readAdversary(read, readIds);

  const length = Math.max(...windows.map(({ ids }) => ids.length));
  const width = config.kvHeads * config.headDim;
  let first = 0;
  return windows.map(({ ids, targets }, batch) => {
    const tokens = targets.map((_, i): PassToken => {
      const row = first + i;
      const top = Array.from({ length: TOP_TOKENS }, (_, k) => ({
        id: topIds[row * TOP_TOKENS + k]!,
        logprob: topLogprobs![row * TOP_TOKENS + k]!,
      }));
      return {
        logprob: logprob![row]!,
        entropy: entropy![row]!,
        margin: margin![row]!,
        top,
        adversary: adversary?.(row) ?? null,
      };
    });
    first += targets.length;
    const start = batch * length * width;
    const layers = Array.from({ length: config.layers }, (_, layer) => ({
      key: read(`key.${layer}`).subarray(start, start + ids.length * width),
      value: read(`value.${layer}`).subarray(start, start + ids.length * width),
    }));
    return { tokens, layers };
  });
}

function readAdversary(read: (name: string) => Float32Array, readIds: (name: string) => number[]) {
  const [perturbed, before, after] = ['perturbed_logprob', 'rival_before', 'rival_after'].map(read);
  const rival = readIds('rival');
  return (row: number): PassToken['adversary'] => ({
    perturbedLogprob: perturbed![row]!,
    rival: { id: rival[row]!, before: before![row]!, after: after![row]! },
  });
}

function feedsFor(
  config: ModelConfig,
  rotary: RotaryEmbedding,
  windows: readonly Window[],
  alpha: number | null,
): Feeds {
  const batch = windows.length;
  const length = Math.max(...windows.map(({ ids }) => ids.length));
  const past = Math.max(...windows.map(({ start }) => start));
  const padTo = (values: readonly number[], size: number, filler: number): number[] => [
    ...values,
    ...Array<number>(size - values.length).fill(filler),
  ];
  const count = (from: number, size: number): number[] => Array.from({ length: size }, (_, i) => from + i);

  const positions = windows.flatMap(({ start, ids }) => padTo(count(start, ids.length), length, UNSEEN));
  const { cos, sin } = rotary.angles(positions);
  const angles = [batch, length, config.headDim / 2];
  const rows = windows.flatMap(({ ids, targets }, b) =>
    count(b * length + ids.length - targets.length, targets.length),
  );
  const scored = [rows.length];
  const feeds: Record<string, Feeds[string]> = {
    ids: longs(
      windows.flatMap(({ ids }) => padTo(ids, length, 0)),
      [batch, length],
    ),
    positions: longs(positions, [batch, length]),
    past_positions: longs(
      windows.flatMap(({ start }) => padTo(count(0, start), past, UNSEEN)),
      [batch, past],
    ),
    cos: floats(cos, angles),
    sin: floats(sin, angles),
    rows: longs(rows, scored),
    targets: longs(
      windows.flatMap(({ targets }) => targets),
      scored,
    ),
  };
  if (alpha !== null) {
    feeds.attacked = floats(new Float32Array(rows.length).fill(1), scored);
    feeds.alpha = floats(Float32Array.of(alpha), []);
  }
  const width = config.kvHeads * config.headDim;
  for (let layer = 0; layer < config.layers; layer++) {
    const prefixes = windows.map(({ cache, start }) => cache.prefix(layer, start));
    feeds[`past_key.${layer}`] = floats(
      stack(
        prefixes.map(({ key }) => key),
        past * width,
      ),
      [batch, past, width],
    );
    feeds[`past_value.${layer}`] = floats(
      stack(
        prefixes.map(({ value }) => value),
        past * width,
      ),
      [batch, past, width],
    );
  }
  return feeds;
}

/** Rows of different length, padded with zeros; a single one is passed on as the view that it is. */
function stack(rows: readonly Float32Array[], size: number): Float32Array {
  if (rows.length === 1) return rows[0]!;
  const data = new Float32Array(rows.length * size);
  rows.forEach((row, i) => {
    data.set(row, i * size);
  });
  return data;
}
