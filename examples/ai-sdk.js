/**
 * The Vercel AI SDK with `@ai-sdk/openai-compatible`. What flinch knows comes in two ways: chunk by chunk, as `raw`
 * parts of the stream, or gathered by a `metadataExtractor` into `providerMetadata`, for whoever reads the finished
 * answer.
 *
 *   node examples/ai-sdk.js [URL] [QUESTION]
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import { z } from 'zod';
import { describeToken, fail, paint, readArguments, token } from './shared.js';

const { url, question } = readArguments();

const flagged = z.object({ type: z.literal('step.flagged'), text: z.string(), risk: z.number() });
const other = z.object({ type: z.string() });
const extension = z.object({
  flinch: z.object({ tokens: z.array(token), events: z.array(z.union([flagged, other])).optional() }),
});

/** The steps that were flagged, of an answer that is streamed. @type {import('@ai-sdk/openai-compatible').MetadataExtractor} */
const metadataExtractor = {
  extractMetadata: async () => undefined,
  createStreamExtractor: () => {
    /** @type {{ text: string, risk: number }[]} */
    const steps = [];
    return {
      processChunk: (chunk) => {
        const events = extension.safeParse(chunk).data?.flinch.events ?? [];
        for (const event of events) if ('text' in event) steps.push({ text: event.text, risk: event.risk });
      },
      buildMetadata: () => ({ flinch: { flagged: steps } }),
    };
  },
};

const flinch = createOpenAICompatible({
  name: 'flinch',
  baseURL: `${url}/v1`,
  ...(process.env.FLINCH_API_KEY && { apiKey: process.env.FLINCH_API_KEY }),
  metadataExtractor,
});

async function answer() {
  const result = streamText({
    model: flinch('reasoner'),
    prompt: question,
    temperature: 1,
    seed: 2,
    // Goes into the body of the request as it is.
    providerOptions: { flinch: { guard: { action: 'annotate', rate: 0.05 } } },
    includeRawChunks: true,
    onError: () => {}, // by default it is printed; below it is a part of the stream
  });

  /** @type {z.output<typeof token>[]} */
  const tokens = [];
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') process.stdout.write(part.text);
    if (part.type === 'error') throw part.error;
    if (part.type !== 'raw') continue;
    for (const each of extension.safeParse(part.rawValue).data?.flinch.tokens ?? [])
      tokens[each.index] = each;
  }

  console.log(`\n\n${tokens.map(({ text, risk }) => paint(text, risk?.adversarial)).join('')}\n`);
  for (const { text, risk, rival } of tokens) {
    if (risk && risk.adversarial >= 0.95) console.log(describeToken(text, risk.adversarial, rival?.text));
  }
  console.log('providerMetadata:', JSON.stringify(await result.providerMetadata));
}

await answer().catch(fail);
