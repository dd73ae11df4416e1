import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { floats, openSession } from '#src/engine/ort-session.js';
import { pick, sign } from '#src/onnx/functions.js';
import { Graph } from '#src/onnx/graph.js';
import type { Value } from '#src/onnx/onnx-types.js';
import { serialize } from '#src/onnx/serialize.js';
import { detach, gradients } from '#src/onnx/vjp.js';

/** Runs a graph of one input. */
async function run(
  build: (g: Graph, x: Value) => Value,
  x: readonly number[],
  dims: readonly number[],
  names: (number | string)[],
) {
  const g = new Graph();
  g.output('y', build(g, g.input('x', 'float32', names)));
  const session = await openSession(g, { threads: 1 });
  const { y } = await session.run({ x: floats(Float32Array.from(x), dims) });
  return { data: Array.from(y!.data as Float32Array), dims: [...y!.dims] };
}

/** What is read of a serialized graph, with the field numbers of onnx.proto. */
const modelSchema = protobuf.Root.fromJSON({
  nested: {
    Model: { fields: { graph: { type: 'Graph', id: 7 } } },
    Graph: { fields: { valueInfo: { rule: 'repeated', type: 'ValueInfo', id: 13 } } },
    ValueInfo: { fields: { name: { type: 'string', id: 1 }, type: { type: 'Type', id: 2 } } },
    Type: { fields: { tensor: { type: 'Tensor', id: 1 } } },
    Tensor: { fields: { shape: { type: 'Shape', id: 2 } } },
    Shape: { fields: { dim: { rule: 'repeated', type: 'Dim', id: 1 } } },
    Dim: { fields: { value: { type: 'int64', id: 1 }, param: { type: 'string', id: 2 } } },
  },
});

describe('Graph', () => {
  it('follows named sizes through reshapes, concatenations and slices', async () => {
    const build = (g: Graph, x: Value) => {
      const twice = g.op('Concat', [x, x], { axis: 1 });
      expect(twice.shape).toEqual([2, 'n+n']);
      const tail = g.slice(twice, 1, ['n'], 'n');
      expect(tail.shape).toEqual([2, 'n']);
      return g.reshape(g.op('Neg', [tail]), ['flat']);
    };
    expect(await run(build, [1, 2, 3, 4, 5, 6], [2, 3], [2, 'n'])).toEqual({
      data: [-1, -2, -3, -4, -5, -6],
      dims: [6],
    });
  });

  it('reads sizes that cannot be inferred from where they came from', async () => {
    const build = (g: Graph, x: Value) => {
      const flat = g.reshape(g.op('Exp', [x]), ['all']);
      return g.reshape(flat, ['a', 'b', 1]);
    };
    expect((await run(build, [0, 0, 0, 0, 0, 0], [3, 2], ['a', 'b'])).dims).toEqual([3, 2, 1]);
  });

  it('splits an axis at sizes that are known when it runs', async () => {
    const parts = async (part: number) => {
      const build = (g: Graph, x: Value) => {
        const twice = g.op('Concat', [x, x, g.floats([9, 9], [2, 1])], { axis: 1 });
        const split = g.split(twice, 1, ['n', 1, 'n']);
        expect(split.map(({ shape }) => shape)).toEqual([
          [2, 'n'],
          [2, 1],
          [2, 'n'],
        ]);
        return g.op('Neg', [split[part]!]);
      };
      return (await run(build, [1, 2, 3, 4], [2, 2], [2, 'n'])).data;
    };
    expect(await parts(0)).toEqual([-1, -2, -3, -4]);
    expect(await parts(1)).toEqual([-1, -3]);
    expect(await parts(2)).toEqual([-2, -9, -4, -9]);
  });

  it('stores equal constants once', () => {
    const g = new Graph();
    expect(g.scalar(2)).toBe(g.scalar(2));
    expect(g.ints([1, 2])).not.toBe(g.ints([1, 2], [1, 2]));
    expect(g.initializers).toHaveLength(3);
  });

  it.each([
    [
      'shapes that do not broadcast',
      (g: Graph, x: Value) => g.op('Add', [x, g.floats([1, 2], [2])]),
      'Add: cannot broadcast',
    ],
    [
      'matrices that do not fit',
      (g: Graph, x: Value) => g.op('MatMul', [x, g.floats([1, 2], [1, 2])]),
      'MatMul: cannot multiply',
    ],
    ['parts that do not add up', (g: Graph, x: Value) => g.split(x, 1, [2, 2])[0]!, 'Split: [2,2] does not'],
    [
      'a size that nothing has',
      (g: Graph, x: Value) => g.expand(x, [3, 'unheard-of', 2]),
      'no value has a size named',
    ],
  ])('refuses %s', (_name, build, message) => {
    const g = new Graph();
    expect(() => build(g, g.input('x', 'float32', [2, 3]))).toThrow(message);
  });

  it('names its outputs without copying them, so they must be results', () => {
    const g = new Graph();
    const x = g.input('x', 'float32', [1]);
    g.output('y', x);
    expect(() => serialize(g)).toThrow('y must be the result of one node');
  });

  it('states the shapes of all values, which onnxruntime cannot always infer', () => {
    const g = new Graph();
    const x = g.input('x', 'float32', ['rows', 4]);
    const inner = g.op('Mul', [x, g.scalar(2)]);
    g.output('y', g.op('Add', [inner, x]));
    const { graph } = modelSchema.lookupType('Model').decode(serialize(g)).toJSON();
    expect(graph.valueInfo).toEqual([
      { name: inner.name, type: { tensor: { shape: { dim: [{ param: 'rows' }, { value: '4' }] } } } },
    ]);
  });
});

describe('functions', () => {
  it('sign is 0 at 0', async () => {
    expect((await run((g, x) => sign(g, x), [-2, -0, 0, 1e-30, 3], [5], [5])).data).toEqual([-1, 0, 0, 1, 1]);
  });

  it('sign of what is not finite is not a number', async () => {
    expect((await run((g, x) => sign(g, x), [NaN, Infinity, -Infinity], [3], [3])).data).toEqual([
      NaN,
      NaN,
      NaN,
    ]);
  });

  it('pick takes one entry of each row', async () => {
    const build = (g: Graph, x: Value) => pick(g, x, g.ints([2, 0]));
    expect((await run(build, [1, 2, 3, 4, 5, 6], [2, 3], [2, 3])).data).toEqual([3, 4]);
  });
});

describe('gradients', () => {
  const scene = () => {
    const g = new Graph();
    const x = g.input('x', 'float32', [3]);
    return { g, x, seed: g.floats([1, 1, 1], [3]) };
  };

  it('do not go through a detached value', async () => {
    const slope = async (detached: boolean) => {
      const build = (g: Graph, x: Value) => {
        const square = g.op('Mul', [x, detached ? detach(x) : x]);
        const [gradient] = gradients(g, [{ value: square, seed: g.floats([1, 1], [2]) }], [x]);
        return g.op('Neg', [gradient!]);
      };
      return (await run(build, [3, 5], [2], [2])).data;
    };
    expect(await slope(false)).toEqual([-6, -10]);
    expect(await slope(true)).toEqual([-3, -5]);
  });

  it('add up over all paths and outputs', async () => {
    const build = (g: Graph, x: Value) => {
      const [double, square] = [g.op('Add', [x, x]), g.op('Mul', [x, x])];
      const seed = g.floats([1], [1]);
      const [gradient] = gradients(
        g,
        [
          { value: double, seed },
          { value: square, seed },
        ],
        [x],
      );
      return g.op('Neg', [gradient!]);
    };
    expect((await run(build, [7], [1], [1])).data).toEqual([-16]);
  });

  it('refuse an operator without a rule, and a value without a path', () => {
    const { g, x, seed } = scene();
    const maximum = g.reduce('ReduceMax', x, [0]);
    expect(() => gradients(g, [{ value: maximum, seed: g.floats([1], [1]) }], [x])).toThrow(
      'ReduceMax: has no differentiation rule',
    );
    const other = g.input('other', 'float32', [3]);
    expect(() => gradients(g, [{ value: g.op('Exp', [x]), seed }], [other])).toThrow('no path from other');
  });
});
