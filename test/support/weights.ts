import type { StoredTensor } from '#src/checkpoint/safetensors.js';
import { weightValues } from '#src/checkpoint/weight-values.js';
import type { Weight, Weights } from '#src/checkpoint/weights.js';

/** A weight that is stored in floating point. */
export function storedWeight({ tensors }: { readonly tensors: Weights }, name: string): StoredTensor {
  const weight = tensors.get(name);
  if (!weight || weight.type === 'packed') throw new Error(`${name} is not stored in floating point`);
  return weight;
}

/** All values of a weight. */
export async function valuesOf(weight: Weight): Promise<Float32Array> {
  const parts: Float32Array[] = [];
  for await (const values of weightValues(weight)) parts.push(values);
  return Float32Array.from(parts.flatMap((part) => [...part]));
}
