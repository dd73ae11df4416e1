import { createParser } from 'eventsource-parser';
import { readText } from 'flinch-client/protocol';
import { z } from 'zod';
import type { PeerServer } from '../peers/server.js';
import { type AnswerTimes, timesOfChunks } from './answer-times.js';

/** Bytes of an error. */
const MOST_BYTES = 16 << 20;

const chunkSchema = z.object({
  choices: z.array(z.object({ text: z.string() })),
  usage: z.object({ completion_tokens: z.int() }).nullish(),
});

/**
 * Has a server continue a prompt, greedily and whatever ends a text.
 *
 * @throws Error if it refuses
 */
export async function completionTimes(
  { url, model }: Pick<PeerServer, 'url' | 'model'>,
  prompt: readonly number[],
  tokens: number,
): Promise<AnswerTimes> {
  const start = performance.now();
  const response = await fetch(`${url}/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      prompt,
      max_tokens: tokens,
      temperature: 0,
      ignore_eos: true,
      cache_prompt: false,
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
  if (!response.ok || !response.body) {
    const text = await readText(response.body, MOST_BYTES);
    throw new Error(`${url}: ${response.status} ${text.slice(0, 500)}`);
  }
  const times: number[] = [];
  let count = 0;
  const events = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const { choices, usage } = chunkSchema.parse(JSON.parse(data));
      if (choices.some(({ text }) => text !== '')) times.push(performance.now() - start);
      count = usage?.completion_tokens ?? count;
    },
  });
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) events.feed(text);
  return timesOfChunks(times, count);
}
