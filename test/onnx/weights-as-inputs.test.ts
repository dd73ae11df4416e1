import { describe, expect, it } from 'vitest';
import { Graph } from '#src/onnx/graph.js';
import { weightsAsInputs } from '#src/onnx/weights-as-inputs.js';

function twice(type: 'bfloat16' | 'float16') {
  const g = new Graph();
  const x = g.input('x', 'float32', ['rows', 4]);
  const stored = { name: 'w', type, shape: [4, 4], file: '/w', offset: 0, byteLength: 32 };
  const once = g.op('MatMul', [x, g.weight(stored, x)]);
  const ids = g.input('ids', 'int64', ['rows']);
  const rows = g.cast(g.op('Gather', [g.external(stored), ids], { axis: 0 }), 'float32');
  g.output('y', g.op('MatMul', [g.op('Add', [once, rows]), g.weight(stored, once)]));
  return { g, stored };
}

describe('weightsAsInputs', () => {
  it('gives bf16 weights in fp32, without a cast', () => {
    const { g, stored } = twice('bfloat16');
    const { graph, weights } = weightsAsInputs(g);
    expect(weights).toEqual([stored]);
    expect(graph.inputs.map(({ name, type }) => [name, type])).toEqual([
      ['x', 'float32'],
      ['ids', 'int64'],
      ['w', 'float32'],
    ]);
    expect(graph.initializers.filter((initializer) => 'external' in initializer)).toEqual([]);
    expect(graph.nodes.filter(({ op }) => op === 'Cast')).toEqual([]);
    const weight = graph.inputs[2];
    const ties = graph.nodes.filter(({ op }) => op === 'Reshape');
    expect(ties.map(({ inputs }) => inputs[0])).toEqual([weight, weight]);
    const products = graph.nodes.filter(({ op }) => op === 'MatMul');
    expect(products.map(({ inputs }) => inputs[1])).toEqual(ties.map(({ outputs }) => outputs[0]));
    const rows = graph.nodes.find(({ op }) => op === 'Gather')!;
    expect([rows.inputs[0], rows.outputs[0]!.type]).toEqual([weight, 'float32']);
    expect(graph.outputs[0]!.value).toBe(products[1]!.outputs[0]);
  });

  it('gives signed bytes in fp16', () => {
    const g = new Graph();
    const ids = g.input('ids', 'int64', ['rows']);
    const stored = { name: 'w', type: 'int8', shape: [4, 4], file: '/w', offset: 0, byteLength: 16 } as const;
    g.output('y', g.cast(g.op('Gather', [g.external(stored), ids], { axis: 0 }), 'float32'));
    const { graph, weights } = weightsAsInputs(g);
    expect(weights).toEqual([stored]);
    expect(graph.inputs.at(-1)).toMatchObject({ name: 'w', type: 'float16' });
    expect(graph.nodes.map(({ op, outputs }) => [op, outputs[0]!.type])).toEqual([
      ['Gather', 'float16'],
      ['Cast', 'float32'],
    ]);
  });

  it('leaves weights of other types as they are stored', () => {
    const { g } = twice('float16');
    const { graph } = weightsAsInputs(g);
    expect(graph.nodes).toEqual(g.nodes);
    expect(graph.inputs.at(-1)).toMatchObject({ name: 'w', type: 'float16' });
  });
});
