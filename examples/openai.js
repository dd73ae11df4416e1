/**
 * The official `openai` client, unchanged but for its address: a streamed chat completion. What flinch knows of each
 * token comes beside `choices`, in the field `flinch`; what the guard is to do goes in as `guard`.
 *
 *   node examples/openai.js [URL] [QUESTION]
 */
import OpenAI from 'openai';
import 'flinch-client/openai'; // types of `guard` and `flinch`
import { describeToken, fail, paint, readArguments } from './shared.js';

const { url, question } = readArguments();
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: process.env.FLINCH_API_KEY ?? 'none' });

async function answer() {
  const stream = await client.chat.completions.create({
    model: 'reasoner',
    messages: [{ role: 'user', content: question }],
    temperature: 1,
    seed: 1,
    guard: { action: 'annotate', rate: 0.05 },
    stream: true,
  });

  /** @type {import('flinch-client').FlinchToken[]} */
  const tokens = [];
  /** @type {string[]} */
  const flagged = [];
  for await (const chunk of stream) {
    process.stdout.write(chunk.choices[0]?.delta.content ?? '');
    for (const token of chunk.flinch?.tokens ?? []) tokens[token.index] = token;
    for (const event of chunk.flinch?.events ?? []) {
      if (event.type === 'step.flagged') flagged.push(event.text.trim());
    }
  }

  console.log(`\n\n${tokens.map(({ text, risk }) => paint(text, risk?.nll)).join('')}\n`);
  for (const { text, risk: { nll = 0 } = {}, rival } of tokens) {
    if (nll >= 0.95) console.log(describeToken(text, nll, rival?.text));
  }
  for (const step of flagged) console.log(`⚑ ${step}`);
}

await answer().catch(fail);
