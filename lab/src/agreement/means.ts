/** Natural log, of probabilities that are made to sum to 1. */
export function entropyOf(logprobs: readonly number[]): number {
  const total = Math.log(sum(logprobs.map(Math.exp)));
  return -sum(logprobs.map((value) => (value - total) * Math.exp(value - total)));
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
export const mean = (values: readonly number[]): number => sum(values) / values.length;
