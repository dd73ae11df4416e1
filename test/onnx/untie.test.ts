import { describe, expect, it } from 'vitest';
import { Graph } from '#src/onnx/graph.js';
import { untieBfloat16 } from '#src/onnx/untie.js';

function twice(type: 'bfloat16' | 'float16') {
  const g = new Graph();
  const x = g.input('x', 'float32', ['rows', 4]);
  const stored = { name: 'w', type, shape: [4, 4], file: '/w', offset: 0, byteLength: 32 };
  const once = g.op('MatMul', [x, g.weight(stored, x)]);
  g.output('y', g.op('MatMul', [once, g.weight(stored, once)]));
  return g;
}

describe('untieBfloat16', () => {
  it('leaves one cast of each bf16 weight, of the weight itself', () => {
    const { nodes, outputs } = untieBfloat16(twice('bfloat16'));
    const casts = nodes.filter(({ op }) => op === 'Cast');
    expect(casts.map(({ inputs }) => inputs[0]?.name)).toEqual(['w']);
    const products = nodes.filter(({ op }) => op === 'MatMul');
    expect(products.map(({ inputs }) => inputs[1])).toEqual([casts[0]!.outputs[0], casts[0]!.outputs[0]]);
    expect(outputs[0]!.value).toBe(products[1]!.outputs[0]);
  });

  it('leaves weights of other types as they are', () => {
    const graph = twice('float16');
    expect(untieBfloat16(graph).nodes).toEqual(graph.nodes);
  });
});
