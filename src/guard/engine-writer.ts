import type { Engine } from '../engine/engine.js';
import type { CompleteRequest, Generation } from '../engine/generation.js';
import { readTokens } from '../stream/generate.js';
import type { BranchWriter } from './branch.js';

/** The engine writes. Continuations go on from copies of its keys and values. */
export function engineWriter(
  { checkpoint }: Pick<Engine, 'checkpoint'>,
  request: CompleteRequest,
  generation: Generation,
): BranchWriter {
  const { tokenizer } = checkpoint;
  // Names of special tokens are text, as in messages: a client writes it.
  const encode = (insert: string): number[] => {
    if (insert === '') return [];
    return tokenizer.specialsIn(insert).length > 0 ? tokenizer.encodePlain(insert) : tokenizer.encode(insert);
  };
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
    fits: (keep, insert) => keep + encode(insert).length < request.maxTokens,
    fork: async (_, { keep, insert = '', temperature, seed }) => {
      const sampling = { ...request.sampling, seed, ...(temperature !== undefined && { temperature }) };
      const fork = await generation.fork({ keep, insert: encode(insert), sampling });
      return engineWriter({ checkpoint }, request, fork);
    },
    close: () => generation.cancel(),
  };
}
