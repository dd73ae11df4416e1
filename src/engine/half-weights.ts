import { allFinite, type ConversionPlan, convert, planConversion } from '../checkpoint/conversion.js';
import { roundToBfloat16 } from '../checkpoint/elements.js';
import type { StoredTensor } from '../checkpoint/safetensors.js';
import { weightValues } from '../checkpoint/weight-values.js';
import { EMBEDDING, headName, productsOf, type Weight } from '../checkpoint/weights.js';
import { ModelError } from '../files/file-errors.js';
import type { ModelSource } from '../graphs/decoder.js';

/** Version of the file's layout: a file of another version is made again. */
const FORMAT = 'flinch bf16 1';

/**
 * The matrices of products for `HalfProducts`, but for that of the logits: as they are stored, if that is in bf16. Others are
 * made once and kept in a safetensors file.
 *
 * @param folder as for `openIntegerWeights`
 * @throws ModelError for weights that are not finite or cannot be read, and where the folder cannot be written
 */
export async function openHalfWeights(
  { config, tensors }: ModelSource,
  folder: string,
  onProgress?: ConversionPlan['onProgress'],
): Promise<ReadonlyMap<string, StoredTensor>> {
  const head = headName(config);
  const matrices = productsOf(config).flatMap(({ name }) => (name === head ? [] : [tensors.get(name)!]));
  const others = matrices.filter(({ type }) => type !== 'bf16');
  const weights = others.map((weight) => ({
    name: weight.name,
    shape: weight.shape,
    type: 'bf16' as const,
    chunks: () => halves(weight),
  }));
  const plan = { format: FORMAT, folder, weights, onProgress };
  if (weights.length > 0) await convert({ ...plan, file: tensors.get(EMBEDDING)!.file });
  const made = planConversion(plan).tensors;
  return new Map(
    matrices.map((weight) => [weight.name, (made.get(weight.name) ?? weight) as StoredTensor] as const),
  );
}

async function* halves(weight: Weight): AsyncGenerator<Uint8Array> {
  for await (const values of weightValues(weight)) {
    if (!allFinite(values)) throw new ModelError(weight.file, weight.name, 'contains NaN or infinity');
    yield roundToBfloat16(values);
  }
}
