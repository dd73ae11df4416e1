/**
 * Precisions in which a model writes. Passes that score compute in fp32 with the weights as they are stored, either way.
 *
 * - `fp32`: as they do
 * - `int8`: activations are rounded to 8 bits in blocks, as llama.cpp does. Weights in integers of 4 or 8 bits stay as
 *   they are, others are rounded to 8 bits in blocks of 32, as Q8_0. On a CPU, a model whose weights are in integers
 *   writes so unless it is told otherwise.
 */
export const PRECISIONS = ['fp32', 'int8'] as const;
export type Precision = (typeof PRECISIONS)[number];
