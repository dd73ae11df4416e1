import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { ggufOf, llamaServer } from '#bench/peers/folder.js';
import { Engine, encodePrompt, scoreResponse } from '#src/index.js';
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
const messages = [{ role: 'user', content: 'What is 12 + 30 - 5?' }];

const { missing, reason } = needs(llamaServer(), ggufOf('reasoner'), ggufOf('smollm2'));

describe.skipIf(missing)(
  `llama.cpp and flinch give the same file the same log-probabilities${reason}`,
  () => {
    // llama.cpp rounds activations to 8 bits where weights are quantised.
    it.each([
      ['reasoner', 'F32', 1e-3],
      ['smollm2', 'Q4_1', 0.3],
    ] as const)('%s, %s, within %d', async (model, _, tolerance) => {
      const server = await startServer('llama-cpp', model, ['--threads', '1']);
      onTestFinished(() => server.close());
      const request = { messages, temperature: 0, max_tokens: 32, logprobs: true, top_logprobs: 1 };
      const response = await fetch(`${server.url}/chat/completions`, {
        method: 'POST',
        body: JSON.stringify(request),
      });
      const tokens = answer.parse(await response.json()).choices[0].logprobs.content;
      const engine = await opened(ggufOf(model));
      onTestFinished(() => engine.close());
      const prompt = encodePrompt(engine.checkpoint, messages);
      const schedule = { kind: 'offline' } as const;
      const ids = tokens.map(({ id }) => id);
      const scored = await scoreResponse(engine, prompt, ids, { methods: ['nll'], alpha: 1e-3, schedule });
      const found = scored.tokens.map(({ scores }) => -scores.nll!);
      expect(
        largestDifference(
          found,
          tokens.map(({ logprob }) => logprob),
        ),
      ).toBeLessThan(tolerance);
    });
  },
);
