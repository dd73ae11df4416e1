import { type ExternalTensor, Graph } from '../onnx/graph.js';

/**
 * Q W Wᵀ for one stored weight W `[out, in]`, which is never transposed, nor copied unless it has to be cast.
 *
 * Input: `rows` `[rows, out]`. Output: `product` `[rows, out]`.
 */
export function buildGramGraph(tensor: ExternalTensor): Graph {
  const g = new Graph();
  const rows = g.input('rows', 'float32', ['rows', tensor.shape[0]!]);
  const weight = g.weight(tensor, rows);
  const inner = g.op('MatMul', [rows, weight]);
  g.output('product', g.op('Gemm', [inner, weight], { transB: 1 }));
  return g;
}
