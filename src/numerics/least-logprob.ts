/**
 * Below it a log-probability says that there is none. 2^−149 is the least probability that float32 has (IEEE 754,
 * binary32, the smallest subnormal), and no softmax in it gives less than that but 0. Servers put some number in place
 * of the logarithm of 0, as JSON has no infinity: OpenAI, vLLM and SGLang −9999, llama.cpp −3.4e38.
 */
export const LEAST_LOGPROB = Math.log(2 ** -149);

/** A log-probability that can be reckoned with; `null` for none, and for that of a token that cannot be. */
export const reckoned = (logprob: number | null): number | null =>
  logprob === null || logprob < LEAST_LOGPROB ? null : logprob;
