import type { Graph } from '../../onnx/graph.js';
import type { Dim, Shape, Value } from '../../onnx/onnx-types.js';
import { type Feeds, floats, type OpenedGraph } from '../ort-session.js';

/** An output that is a part of the joined one. */
interface Part {
  readonly name: string;
  readonly shape: Shape;
}

const JOINED = 'joined';

/**
 * Joins the fp32 outputs of a graph whose sizes its inputs tell: WebGPU waits for each that is downloaded, whatever its
 * size.
 * @returns the outputs in the order in which they are joined
 */
export function joinOutputs(g: Graph): Part[] {
  const known = new Set<Dim>(g.inputs.flatMap(({ shape }) => shape));
  const joins = ({ type, shape }: Value): boolean =>
    type === 'float32' && shape.every((dim) => typeof dim === 'number' || known.has(dim));
  const parts = g.outputs.filter(({ value }) => joins(value));
  const others = g.outputs.filter(({ value }) => !joins(value));
  if (parts.length < 2) return [];
  const flat = parts.map(({ name, value }) => g.reshape(value, [`size of ${name}`]));
  g.outputs.splice(0, g.outputs.length, ...others);
  g.output(JOINED, g.op('Concat', flat, { axis: 0 }));
  return parts.map(({ name, value: { shape } }) => ({ name, shape }));
}

/**
 * A graph of {@link joinOutputs} with the outputs that it had.
 * @param inputs of the graph, which tell what its named sizes are
 */
export function separateOutputs(
  session: OpenedGraph,
  inputs: readonly Value[],
  parts: readonly Part[],
): OpenedGraph {
  if (parts.length === 0) return session;
  const names = new Set(parts.map(({ name }) => name));
  return {
    inputNames: session.inputNames,
    outputNames: [...session.outputNames.filter((name) => name !== JOINED), ...names],
    endProfiling: () => session.endProfiling(),
    async run(feeds, fetches) {
      const others = Object.entries(fetches).filter(([name]) => !names.has(name));
      const wanted = parts.some(({ name }) => name in fetches) ? [[JOINED, null] as const] : [];
      const { [JOINED]: joined, ...outputs } = await session.run(
        feeds,
        Object.fromEntries([...others, ...wanted]),
      );
      if (!joined) return outputs;
      const data = joined.data as Float32Array;
      const sizes = sizesIn(feeds, inputs);
      let at = 0;
      const separate = parts.map(({ name, shape }) => {
        const dims = shape.map((dim) => (typeof dim === 'number' ? dim : sizes.get(dim)!));
        const start = at;
        at += dims.reduce((product, size) => product * size, 1);
        return [name, floats(data.subarray(start, at), dims)] as const;
      });
      return { ...outputs, ...Object.fromEntries(separate.filter(([name]) => name in fetches)) };
    },
  };
}

/** The named sizes of a run. */
export const sizesIn = (feeds: Feeds, inputs: readonly Value[]): ReadonlyMap<string, number> =>
  new Map(
    inputs.flatMap(({ name, shape }) =>
      shape.flatMap((dim, axis) =>
        typeof dim === 'string' ? [[dim, feeds[name]!.dims[axis]!] as const] : [],
      ),
    ),
  );
