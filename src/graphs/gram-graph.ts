import type { Weight } from '../checkpoint/weights.js';
import { Graph } from '../onnx/graph.js';
import { gradients } from '../onnx/vjp.js';
import { Products } from './products.js';

/**
 * Q W Wᵀ for one stored weight W `[out, in]`, which is never transposed, nor copied unless it has to be.
 *
 * Input: `rows` `[rows, out]`. Output: `product` `[rows, out]`.
 */
export function buildGramGraph(weight: Weight): Graph {
  const g = new Graph();
  const products = new Products(g);
  const rows = g.input('rows', 'float32', ['rows', weight.shape[0]!]);
  // Q W is the gradient of ⟨Q, x Wᵀ⟩ on x, wherever that is; the nodes of the product itself are not needed.
  const anywhere = g.expand(g.scalar(0), ['rows', weight.shape[1]!]);
  const seed = { value: products.multiply(anywhere, weight), seed: rows };
  const [inner] = gradients(g, [seed], [anywhere]);
  g.output('product', products.multiply(inner!, weight));
  return g;
}
