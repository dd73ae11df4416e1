/**
 * Precisions in which a model writes: `fp32` computes with the weights as they are stored; `int8` with
 * weights rounded to 8 bits in blocks of 32, as Q8_0 of llama.cpp. Passes that score compute in fp32 either
 * way.
 */
export const PRECISIONS = ['fp32', 'int8'] as const;
export type Precision = (typeof PRECISIONS)[number];
