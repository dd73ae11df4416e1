import { type Engine, encodePrompt, type GenerateRequest } from '#src/index.js';

export const QUESTION =
  'Maya has 11 stones. Then Maya sells 3. Maya finds 67 more. Then Maya buys 14 more. How many stones are there at the end?';

/** The greedy answer to this goes on until the context is full, some 290 tokens. */
export const LONG_QUESTION = `Alice lies. ${'Bob says Alice lies. '.repeat(15)}`;

/** A greedy request for the embedded model. */
export function greedy(engine: Engine, changes: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    promptIds: encodePrompt(engine.checkpoint, [{ role: 'user', content: QUESTION }]),
    maxTokens: 200,
    endIds: engine.checkpoint.eosTokenIds,
    stop: [],
    topLogprobs: 0,
    sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
    ...changes,
  };
}

/** One that writes on and on: nothing ends it but its length. */
export const endless = (engine: Engine, maxTokens = 400): GenerateRequest =>
  greedy(engine, { endIds: [], maxTokens });
