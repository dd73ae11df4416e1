import type { CompleteRequest, Generation } from '../engine/generation.js';
import { readTokens } from '../stream/generate.js';
import type { BranchWriter } from './branch.js';

/** The engine writes. Continuations go on from copies of its keys and values. */
export function engineWriter(request: CompleteRequest, generation: Generation): BranchWriter {
  const promptTokens = request.promptIds.length;
  return {
    promptTokens,
    get cachedTokens() {
      return generation.cachedTokens;
    },
    get written() {
      return generation.written;
    },
    tokens: (gate) => readTokens(generation, promptTokens, gate),
    fits: (keep) => keep < request.maxTokens,
    fork: async (_, { from, temperature, seed }) => {
      const sampling = { ...request.sampling, seed, ...(temperature !== undefined && { temperature }) };
      const fork = await generation.fork({ keep: from, sampling });
      return engineWriter(request, fork);
    },
    close: () => generation.cancel(),
  };
}
