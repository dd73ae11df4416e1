import type { ModelConfig } from '../../checkpoint/config.js';
import { NOWHERE } from '../../graphs/attention.js';
import { type Feeds, type Fetches, floats, longs, type OpenedGraph } from '../ort-session.js';
import { cacheNames, count } from './sequence-run.js';

/** One sequence of a run, as its inputs say. */
interface Given {
  readonly ids: ArrayLike<bigint>;
  readonly positions: ArrayLike<bigint>;
  /** Positions before its rows. */
  readonly past: number;
}

/** What the sequences of a run are filled up to. */
export interface BatchSizes {
  readonly batch: number;
  readonly window: number;
  readonly past: number;
}

/** Inputs and outputs of a graph for any number of sequences under the names of a graph for so many. */
export interface SequenceNames extends Pick<OpenedGraph, 'inputNames' | 'outputNames'> {
  /** Those of the keys and values of the windows. */
  readonly windows: readonly string[];
}

/**
 * A graph for any number of sequences as one for so many of them: their rows and keys are filled up to the longest, and
 * what comes out is taken apart.
 * @param session of a graph that was built for `any` number
 */
export function batchedGraph(session: OpenedGraph, sequences: number, config: ModelConfig): OpenedGraph {
  const { windows, ...names } = sequenceNames(session, sequences, config);
  return {
    ...names,
    endProfiling: () => session.endProfiling(),
    async run(feeds, fetches) {
      const given = givenOf(feeds, sequences);
      const wantsWindow = windows.some((name) => name in fetches);
      const all: Fetches = Object.fromEntries(
        session.outputNames
          .filter((name) => (name === 'window' ? wantsWindow : name in fetches))
          .map((name) => [name, null]),
      );
      const sizes = longestOf(given);
      const batched = { ...batchFeeds(feeds, given, sizes), past: pastOf(feeds, given, sizes, config) };
      const { window, ...outputs } = await session.run(batched, all);
      if (!window) return outputs;
      return { ...outputs, ...takenApart(window.data as Float32Array, given, sizes, config) };
    },
  };
}

export function sequenceNames(
  { inputNames, outputNames }: Pick<OpenedGraph, 'inputNames' | 'outputNames'>,
  sequences: number,
  { layers }: Pick<ModelConfig, 'layers'>,
): SequenceNames {
  const own = new Set(['ids', 'positions', 'past', 'past_positions', 'store', 'slots']);
  const all = count(0, sequences);
  const each = ['ids', 'positions', 'past_positions'].flatMap((name) => all.map((t) => `${name}.${t}`));
  const windows = all.flatMap((t) => cacheNames('window_', t, layers));
  return {
    inputNames: [
      ...inputNames.filter((name) => !own.has(name)),
      ...each,
      ...all.flatMap((t) => cacheNames('', t, layers)),
    ],
    outputNames: [
      ...outputNames.filter((name) => name !== 'window'),
      ...(outputNames.includes('window') ? windows : []),
    ],
    windows,
  };
}

export const givenOf = (feeds: Feeds, sequences: number): Given[] =>
  count(0, sequences).map((t) => {
    const data = (name: string) => feeds[`${name}.${t}`]!.data as BigInt64Array;
    return { ids: data('ids'), positions: data('positions'), past: data('past_positions').length };
  });

export const longestOf = (given: readonly Given[]): BatchSizes => ({
  batch: given.length,
  window: Math.max(...given.map(({ ids }) => ids.length)),
  // At least one that no row sees: not every kernel is sure to take a tensor without elements.
  past: Math.max(1, ...given.map(({ past }) => past)),
});

/** Axis of the rows of inputs that have some for each row. */
const rowAxis = (name: string): number | null =>
  name === 'noise' ? 0 : /^(cos|sin)\./.test(name) ? 1 : null;

/** The inputs of a run over all sequences, but for the keys and values before them. */
export function batchFeeds(
  feeds: Feeds,
  given: readonly Given[],
  { batch, window, past }: BatchSizes,
): Feeds {
  const filled = (size: number, of: (one: Given | undefined, i: number) => bigint | number) =>
    count(0, batch).flatMap((t) => count(0, size).map((i) => Number(of(given[t], i))));
  const batched: Record<string, Feeds[string]> = {
    ids: longs(
      filled(window, (one, i) => one?.ids[i] ?? 0),
      [batch, window],
    ),
    positions: longs(
      filled(window, (one, i) => one?.positions[i] ?? NOWHERE),
      [batch, window],
    ),
    past_positions: longs(
      filled(past, (one, i) => (one && i < one.past ? i : NOWHERE)),
      [batch, past],
    ),
  };
  const places = given.flatMap(({ ids }, t) => count(t * window, ids.length));
  for (const [name, tensor] of Object.entries(feeds)) {
    const axis = rowAxis(name);
    if (axis !== null) batched[name] = spread(tensor, axis, places, batch * window);
    else if (name === 'rows') {
      const rows = Array.from(tensor.data as BigInt64Array, (row) => places[Number(row)]!);
      batched[name] = longs(rows, tensor.dims);
    } else if (!/\.\d/.test(name)) batched[name] = tensor; // the others are of one sequence
  }
  return batched;
}

/** Keys and values before the windows, `[2 · layers, batch, past, kvHeads, headDim]`. */
function pastOf(
  feeds: Feeds,
  given: readonly Given[],
  { batch, past }: BatchSizes,
  { layers, kvHeads, headDim }: ModelConfig,
): Feeds[string] {
  const size = kvHeads * headDim;
  const keys = new Float32Array(2 * layers * batch * past * size);
  for (const t of given.keys()) {
    for (const [i, name] of cacheNames('', t, layers).entries()) {
      const held = feeds[name]!.data as Float32Array;
      keys.set(held.subarray(size), (i * batch + t) * past * size); // without the key that no row sees
    }
  }
  return floats(keys, [2 * layers, batch, past, kvHeads, headDim]);
}

/** Puts each row of a tensor where it belongs among `rows`. */
function spread(tensor: Feeds[string], axis: number, places: readonly number[], rows: number): Feeds[string] {
  const width = tensor.dims.at(-1)!;
  const from = tensor.data as Float32Array;
  const to = new Float32Array(rows * width);
  for (const [row, place] of places.entries()) {
    to.set(from.subarray(row * width, (row + 1) * width), place * width);
  }
  return floats(to, tensor.dims.with(axis, rows));
}

/** Keys and values of the windows, by the names that graphs of so many sequences give them. */
export function takenApart(
  window: Float32Array,
  given: readonly Given[],
  { batch, window: rows }: BatchSizes,
  { layers, kvHeads, headDim }: ModelConfig,
): Feeds {
  const size = kvHeads * headDim;
  return Object.fromEntries(
    given.flatMap(({ ids: { length } }, t) =>
      cacheNames('window_', t, layers).map((name, i) => {
        const from = (i * batch + t) * rows * size;
        const part = window.subarray(from, from + length * size);
        return [name, floats(part, [length, kvHeads, headDim])] as const;
      }),
    ),
  );
}
