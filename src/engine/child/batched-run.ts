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

/**
 * A graph for any number of sequences as one for so many of them: their rows and keys are filled up to the longest, and
 * what comes out is taken apart.
 * @param session of a graph that was built for `any` number
 */
export function batchedGraph(session: OpenedGraph, sequences: number, config: ModelConfig): OpenedGraph {
  const names = (prefix: string): string[] =>
    count(0, sequences).flatMap((t) => cacheNames(prefix, t, config.layers));
  const own = new Set(['ids', 'positions', 'past', 'past_positions']);
  const each = ['ids', 'positions', 'past_positions'].flatMap((name) =>
    count(0, sequences).map((t) => `${name}.${t}`),
  );
  return {
    inputNames: [...session.inputNames.filter((name) => !own.has(name)), ...each, ...names('')],
    outputNames: [...session.outputNames.filter((name) => name !== 'window'), ...names('window_')],
    endProfiling: () => session.endProfiling(),
    async run(feeds, fetches) {
      const given = count(0, sequences).map((t) => sequenceOf(feeds, t));
      const windows = names('window_').filter((name) => name in fetches);
      const wanted = Object.entries(fetches).filter(([name]) => !name.startsWith('window_'));
      const all: Fetches = Object.fromEntries([...wanted, ...(windows.length > 0 ? [['window', null]] : [])]);
      const { window, ...outputs } = await session.run(batchFeeds(feeds, given, config), all);
      if (!window) return outputs;
      const parts = takenApart(window.data as Float32Array, given, config);
      return { ...outputs, ...Object.fromEntries(windows.map((name) => [name, parts.get(name)!])) };
    },
  };
}

function sequenceOf(feeds: Feeds, t: number): Given {
  const data = (name: string) => feeds[`${name}.${t}`]!.data as BigInt64Array;
  return { ids: data('ids'), positions: data('positions'), past: data('past_positions').length };
}

const longest = (given: readonly Given[], of: (one: Given) => number): number => Math.max(...given.map(of));

/** Axis of the rows of inputs that have some for each row. */
const rowAxis = (name: string): number | null =>
  name === 'noise' ? 0 : /^(cos|sin)\./.test(name) ? 1 : null;

function batchFeeds(feeds: Feeds, given: readonly Given[], config: ModelConfig): Feeds {
  const { layers, kvHeads, headDim } = config;
  const batch = given.length;
  const window = longest(given, ({ ids }) => ids.length);
  // At least one that no row sees: not every kernel is sure to take a tensor without elements.
  const past = Math.max(
    1,
    longest(given, (one) => one.past),
  );
  const batched: Record<string, Feeds[string]> = {
    ids: longs(
      given.flatMap(({ ids }) => count(0, window).map((i) => Number(ids[i] ?? 0))),
      [batch, window],
    ),
    positions: longs(
      given.flatMap(({ positions }) => count(0, window).map((i) => Number(positions[i] ?? NOWHERE))),
      [batch, window],
    ),
    past: floats(pastOf(feeds, given, { past, config }), [2 * layers, batch, past, kvHeads, headDim]),
    past_positions: longs(
      given.flatMap((one) => count(0, past).map((i) => (i < one.past ? i : NOWHERE))),
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
  { past, config }: { readonly past: number; readonly config: ModelConfig },
): Float32Array {
  const { layers, kvHeads, headDim } = config;
  const size = kvHeads * headDim;
  const keys = new Float32Array(2 * layers * given.length * past * size);
  for (const t of given.keys()) {
    for (const [i, name] of cacheNames('', t, layers).entries()) {
      const held = feeds[name]!.data as Float32Array;
      keys.set(held.subarray(size), (i * given.length + t) * past * size); // without the key that no row sees
    }
  }
  return keys;
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
function takenApart(
  window: Float32Array,
  given: readonly Given[],
  { layers, kvHeads, headDim }: ModelConfig,
) {
  const size = kvHeads * headDim;
  const rows = longest(given, ({ ids }) => ids.length);
  return new Map(
    given.flatMap(({ ids: { length } }, t) =>
      cacheNames('window_', t, layers).map((name, i) => {
        const from = (i * given.length + t) * rows * size;
        return [
          name,
          floats(window.subarray(from, from + length * size), [length, kvHeads, headDim]),
        ] as const;
      }),
    ),
  );
}
