/**
 * The Vercel AI SDK with `flinch-ai-sdk`: the text as it is written, each settled step as it comes, and at the end all
 * that flinch knows, in `providerMetadata`.
 *
 *   node examples/ai-sdk.js [URL] [QUESTION]
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText, wrapLanguageModel } from 'ai';
import { flinchMetadata, flinchMiddleware } from 'flinch-ai-sdk';
import { describeToken, fail, paint, readArguments } from './shared.js';

const { url, question } = readArguments();

const gateway = createOpenAICompatible({
  name: 'gateway',
  baseURL: `${url}/v1`,
  ...(process.env.FLINCH_API_KEY && { apiKey: process.env.FLINCH_API_KEY }),
});

/** @type {import('flinch-ai-sdk').FlinchStep[]} */
const steps = [];

const model = wrapLanguageModel({
  model: gateway('reasoner'),
  middleware: flinchMiddleware({
    guard: { action: 'annotate', rate: 0.05 },
    onData: (part) => {
      if (part.type === 'data-flinch-step') steps.push(part.data);
    },
  }),
});

async function answer() {
  const result = streamText({
    ...{ model, prompt: question, temperature: 1, seed: 1 },
    onError: () => {}, // by default it is printed; below it is a part of the stream
  });
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') process.stdout.write(part.text);
    if (part.type === 'error') throw part.error;
  }

  const tokens = steps.flatMap((step) => step.tokens);
  console.log(`\n\n${tokens.map(({ text, risk }) => paint(text, risk ?? undefined)).join('')}\n`);
  const flinch = flinchMetadata(await result.providerMetadata);
  for (const { text, risk, rival } of flinch?.tokens ?? []) {
    const { nll = 0 } = risk ?? {};
    if (nll >= 0.95) console.log(describeToken(text, nll, rival?.text));
  }
  for (const { text, risk } of flinch?.flagged ?? []) {
    console.log(`⚑ risk ${risk?.toFixed(3)}: ${text.trim()}`);
  }
  console.log('verdict:', JSON.stringify(flinch?.verdict));
}

await answer().catch(fail);
