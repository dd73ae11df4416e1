/**
 * The official `openai` client, unchanged but for its address: a streamed chat completion. What flinch knows of each
 * token comes beside `choices`, in the field `flinch`; what the guard is to do goes in as `guard`.
 *
 *   node examples/openai.js [URL] [QUESTION]
 */
import OpenAI from 'openai';
import { z } from 'zod';
import { describeToken, fail, paint, readArguments, token } from './shared.js';

const { url, question } = readArguments();
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: process.env.FLINCH_API_KEY ?? 'none' });

/** What a chunk has beside `choices`. */
const extension = z.object({
  flinch: z.object({
    tokens: z.array(token),
    events: z.array(z.object({ type: z.string(), text: z.string().optional() })).optional(),
  }),
});

async function answer() {
  const fields = { guard: { action: 'annotate', rate: 0.05 } };
  const stream = await client.chat.completions.create({
    model: 'reasoner',
    messages: [{ role: 'user', content: question }],
    temperature: 1,
    seed: 1,
    stream: true,
    ...fields,
  });

  /** @type {z.output<typeof token>[]} */
  const tokens = [];
  /** @type {string[]} */
  const flagged = [];
  for await (const chunk of stream) {
    process.stdout.write(chunk.choices[0]?.delta.content ?? '');
    const { flinch } = extension.parse(chunk);
    for (const each of flinch.tokens) tokens[each.index] = each;
    for (const { type, text } of flinch.events ?? []) {
      if (type === 'step.flagged') flagged.push(String(text).trim());
    }
  }

  console.log(`\n\n${tokens.map(({ text, risk }) => paint(text, risk?.nll)).join('')}\n`);
  for (const { text, risk, rival } of tokens) {
    if (risk && risk.nll >= 0.95) console.log(describeToken(text, risk.nll, rival?.text));
  }
  for (const step of flagged) console.log(`⚑ ${step}`);
}

await answer().catch(fail);
