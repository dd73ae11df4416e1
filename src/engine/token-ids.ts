/**
 * Several texts share a run, and onnxruntime fails it whole for an id that the model does not have.
 * @throws RangeError that names the field and the place
 */
export function checkIds(field: string, ids: readonly number[], vocabSize: number): void {
  const index = ids.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
  if (index < 0) return;
  throw new RangeError(`${field}[${index}]: ${ids[index]} is not in the vocabulary of ${vocabSize}`);
}
