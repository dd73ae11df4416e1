import { type Engine, encodePrompt, type GenerateRequest } from '#src/index.js';

/** The embedded model answers it with certainty. */
export const PLAIN_QUESTION =
  'Maya has 11 stones. Then Maya sells 3. Maya finds 67 more. Then Maya buys 14 more. How many stones are there at the end?';

/** Question with an answer in which each line opens with a word that the model can only guess. */
export const QUESTION = `${PLAIN_QUESTION} Explain each step.`;

/** The model has not learned such problems: each line of its answers is a guess, and candidates differ. */
export const GUESSED_QUESTION =
  'Kate has the yellow ball, Dan has the blue ball and Lena has the red ball. Lena and Kate swap. Dan and Lena swap. Dan and Kate swap. Which ball does Dan have now? Explain each step.';

const COLORS = ['red', 'blue', 'green', 'yellow', 'white'];
const BEADS = Array.from({ length: 60 }, (_, i) => COLORS[(7 * i + (i % 3)) % COLORS.length]);

/** Many more beads than the model was trained on: the greedy answer to this has some 300 tokens. */
export const LONG_QUESTION = `A chain has these beads: ${BEADS.join(', ')}. How many are red? Explain each step.`;

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
