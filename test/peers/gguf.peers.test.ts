import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { ggufOf, llamaServer } from '#lab/peers/peers-folder.js';
import { Engine, encodePrompt, encodeText, scoreResponse } from '#src/index.js';
import { useFolder } from '../support/cli.js';
import { largestDifference } from '../support/golden.js';
import { needs, startServer } from '../support/peers.js';

const folder = useFolder();

/** Peers, too, are in the cache folder: it is another one only while a file is unpacked. */
async function opened(file: string): Promise<Engine> {
  const { XDG_CACHE_HOME } = process.env;
  process.env.XDG_CACHE_HOME = folder.path('cache');
  try {
    return await Engine.open(file);
  } finally {
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
  }
}

const answer = z.object({
  choices: z.tuple([
    z.object({ logprobs: z.object({ content: z.array(z.object({ id: z.number(), logprob: z.number() })) }) }),
  ]),
});
const QUESTION = 'What is 12 + 30 - 5?';

/** With its chat template, or as a beginning where the model has none. */
const asked = {
  chat: {
    path: 'chat/completions',
    body: { messages: [{ role: 'user', content: QUESTION }], logprobs: true, top_logprobs: 1 },
    encode: ({ checkpoint }: Engine) => encodePrompt(checkpoint, [{ role: 'user', content: QUESTION }]),
  },
  text: {
    path: 'completions',
    body: { prompt: QUESTION, logprobs: 1 },
    encode: ({ checkpoint }: Engine) => encodeText(checkpoint.tokenizer, QUESTION),
  },
} as const;

describe('llama.cpp and flinch give the same file the same log-probabilities', () => {
  // llama.cpp rounds activations to 8 bits where weights are quantised.
  for (const [model, format, how, tolerance] of [
    ['reasoner', 'F32', asked.chat, 1e-3],
    ['smollm2', 'Q4_1', asked.chat, 0.3],
    ['gemma3', 'Q4_K_M', asked.text, 0.3],
  ] as const) {
    const { missing, reason } = needs(llamaServer(), ggufOf(model));
    it.skipIf(missing)(`${model}, ${format}, within ${tolerance}${reason}`, async () => {
      const server = await startServer('llama-cpp', model, ['--threads', '1']);
      onTestFinished(() => server.close());
      const response = await fetch(`${server.url}/${how.path}`, {
        method: 'POST',
        body: JSON.stringify({ ...how.body, temperature: 0, max_tokens: 32 }),
      });
      const tokens = answer.parse(await response.json()).choices[0].logprobs.content;
      expect(tokens.length).toBeGreaterThan(8);
      const engine = await opened(ggufOf(model));
      onTestFinished(() => engine.close());
      const schedule = { kind: 'offline' } as const;
      const ids = tokens.map(({ id }) => id);
      const scoring = { methods: ['nll'], alpha: 1e-3, schedule } as const;
      const scored = await scoreResponse(engine, how.encode(engine), ids, scoring);
      const difference = largestDifference(
        scored.tokens.map(({ scores }) => -scores.nll!),
        tokens.map(({ logprob }) => logprob),
      );
      console.log(`${model}: at most ${difference} nats over ${tokens.length} tokens`);
      expect(difference).toBeLessThan(tolerance);
    });
  }
});
