import { ModelError } from '../files/errors.js';
import { weightValues } from './weight-values.js';
import { EMBEDDING, type Weights } from './weights.js';

/**
 * Root mean square of the embeddings as they enter the first layer, all rows alike: the unit of a perturbation that is to mean the
 * same for models whose embeddings differ in size. Reads the file in chunks; the sum is in float64.
 *
 * @param scale what the stored embeddings are multiplied by
 * @throws ModelError where the file cannot be read, or the matrix contains NaN or infinity
 */
export async function embeddingRms(tensors: Weights, scale = 1): Promise<number> {
  const tensor = tensors.get(EMBEDDING);
  if (!tensor) throw new Error(`checkpoint: no tensor ${EMBEDDING}`);
  const { file, shape } = tensor;
  let squares = 0;
  for await (const values of weightValues(tensor)) for (const x of values) squares += x * x;
  const rms = scale * Math.sqrt(squares / shape.reduce((product, size) => product * size, 1));
  if (!Number.isFinite(rms)) throw new ModelError(file, EMBEDDING, 'contains NaN or infinity');
  return rms;
}
