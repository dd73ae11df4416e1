import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import {
  buildServedGraph,
  SERVED_GRAPH_NAMES,
  servedGraphOf,
  signatureOf,
} from '#src/engine/server/served-graphs.js';
import { operatorSpec } from '#src/onnx/operators.js';
import { CHECKPOINTS, checkpointFolder } from '../../support/golden.js';

/** Standard operators that onnxruntime 1.27 was seen to run (test/peers/inference-server.peers.test.ts). */
const KNOWN = new Set<string>([
  'Add',
  'And',
  'ArgMax',
  'Cast',
  'Concat',
  'Div',
  'Equal',
  'Exp',
  'Expand',
  'Gather',
  'GatherElements',
  'Gemm',
  'Greater',
  'GreaterOrEqual',
  'Less',
  'Log',
  'MatMul',
  'Mul',
  'Neg',
  'RMSNormalization',
  'Reciprocal',
  'ReduceMax',
  'ReduceMean',
  'ReduceSum',
  'Reshape',
  'RotaryEmbedding',
  'ScatterElements',
  'ScatterND',
  'Shape',
  'Sigmoid',
  'Slice',
  'Softmax',
  'Split',
  'Sqrt',
  'Sub',
  'TopK',
  'Transpose',
  'Unsqueeze',
  'Where',
]);

describe('graphs for inference servers', () => {
  it.each(CHECKPOINTS)('of %s have only operators that onnxruntime 1.27 runs', async (name) => {
    const checkpoint = await openCheckpoint(checkpointFolder(name));
    const used = SERVED_GRAPH_NAMES.flatMap((graph) =>
      buildServedGraph(checkpoint, graph).nodes.map(({ op }) => op),
    );
    for (const op of new Set(used)) {
      expect(operatorSpec(op).domain).toBeUndefined();
      expect(KNOWN).toContain(op);
    }
  });

  it.each(CHECKPOINTS)('of %s take and give tensors that the protocol can carry', async (name) => {
    const checkpoint = await openCheckpoint(checkpointFolder(name));
    for (const graph of SERVED_GRAPH_NAMES) {
      const { inputs, outputs, states } = signatureOf(buildServedGraph(checkpoint, graph));
      for (const { type, shape } of [...inputs, ...outputs]) {
        expect(['float32', 'int64']).toContain(type);
        expect(shape.length).toBeGreaterThan(0); // Triton refuses `dims: []`
      }
      const sizes = new Set(inputs.flatMap(({ shape }) => shape));
      for (const dim of outputs.flatMap(({ shape }) => shape)) {
        if (typeof dim === 'string') expect(sizes).toContain(dim); // a client knows what to expect
      }
      expect(states).toHaveLength(graph === 'sequence' ? 2 * checkpoint.config.layers : 0);
      for (const { input, output } of states) {
        expect(output.type).toBe(input.type);
        // What varies is the number of positions alone.
        expect(output.shape.with(0, input.shape[0]!)).toEqual(input.shape);
      }
    }
  });

  it('are found by what a pass asks for', () => {
    expect(servedGraphOf({ kind: 'score', sequences: 1, form: 'derivative' })).toBe('score');
    expect(() => servedGraphOf({ kind: 'score', sequences: 1, form: 'perturb' })).toThrow('has no graph');
    expect(() => servedGraphOf({ kind: 'forward', sequences: 2, result: 'statistics' })).toThrow(
      'has no graph',
    );
  });
});
