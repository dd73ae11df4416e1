/**
 * The official `openai` client, unchanged but for its address: a streamed chat completion. What flinch knows of each
 * token comes beside `choices`, in the field `flinch`; what the guard is to do goes in as `guard`.
 *
 *   node examples/openai.js [URL] [QUESTION]
 */
import OpenAI from 'openai';
import { z } from 'zod';
import { describeToken, paint } from './paint.js';

const [
  url = process.env.FLINCH_URL ?? 'http://127.0.0.1:8787',
  question = 'What is (86 - 38) * 7 - 59 + 24?',
] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: process.env.FLINCH_API_KEY ?? 'none' });

/** A token comes twice: with its text, and again with its scores, at most a block of tokens later. */
const extension = z.object({
  flinch: z.object({
    tokens: z.array(
      z.object({
        index: z.number(),
        text: z.string(),
        risk: z.object({ adversarial: z.number() }).optional(),
        rival: z.object({ text: z.string() }).optional(),
      }),
    ),
    events: z.array(z.object({ type: z.string(), text: z.string().optional() })).optional(),
  }),
});

const fields = { guard: { action: 'annotate', rate: 0.05 } };
const stream = await client.chat.completions.create({
  model: 'reasoner',
  messages: [{ role: 'user', content: question }],
  temperature: 1,
  seed: 2,
  stream: true,
  ...fields,
});

/** @type {z.output<typeof extension>['flinch']['tokens']} */
const tokens = [];
/** @type {string[]} */
const flagged = [];
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? '');
  const { flinch } = extension.parse(chunk);
  for (const token of flinch.tokens) tokens[token.index] = token;
  for (const { type, text } of flinch.events ?? []) {
    if (type === 'step.flagged') flagged.push(String(text).trim());
  }
}

console.log(`\n\n${tokens.map(({ text, risk }) => paint(text, risk?.adversarial)).join('')}\n`);
for (const { text, risk, rival } of tokens) {
  if (risk && risk.adversarial >= 0.95) console.log(describeToken(text, risk.adversarial, rival?.text));
}
for (const step of flagged) console.log(`⚑ ${step}`);
