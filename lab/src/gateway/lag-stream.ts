import { type Agent, request } from 'node:http';
import { createParser } from 'eventsource-parser';
import { z } from 'zod';

/** A client's view of one response. Times are in milliseconds. */
export interface LagStream {
  /** Pieces of text, as the upstream wrote them or as the scorer cut them. */
  readonly characters: number;
  /** Time from the first text to the last. */
  readonly writingMs: number;
  /** Time from the last text to the end of the stream. */
  readonly tailMs: number;
  /** Tokens of the response by what became of their scores. */
  readonly tokens: { readonly scored: number; readonly passedOver: number; readonly unaccounted: number };
  /** Summed over the steps. */
  readonly unscored: number;
}

export interface LagAsked {
  readonly url: string;
  readonly agent: Agent;
  readonly tokens: number;
  /** Milliseconds between two tokens; 0 for as fast as they are taken. */
  readonly interval: number;
  readonly guard: object;
}

const chunk = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }) })),
  /** Absent without a guard. */
  flinch: z
    .object({
      tokens: z.array(
        z.object({
          index: z.number(),
          scores: z.record(z.string(), z.number()).optional(),
          reason: z.string().optional(),
        }),
      ),
      events: z.array(z.looseObject({ type: z.string(), unscored: z.number().optional() })).default([]),
    })
    .optional(),
});

/** @throws Error for a stream that is not whole */
export function readLagStream({ url, agent, tokens, interval, guard }: LagAsked): Promise<LagStream> {
  const content = `tokens=${tokens} interval=${interval} digits`;
  const messages = [{ role: 'user', content }];
  const body = JSON.stringify({ model: 'bench', stream: true, messages, guard });
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/v1/chat/completions`, {
      agent,
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
    });
    asked.once('error', reject);
    asked.once('response', (response) => {
      const fates: ('scored' | 'passedOver' | 'unaccounted')[] = [];
      let characters = 0;
      let unscored = 0;
      let [first, last] = [0, 0];
      let done = false;
      let head = '';
      const read = (data: string): void => {
        const { choices, flinch } = chunk.parse(JSON.parse(data));
        const text = choices.map(({ delta }) => delta.content ?? '').join('');
        if (text !== '') {
          last = performance.now();
          first ||= last;
          characters += text.length;
        }
        for (const { index, scores, reason } of flinch?.tokens ?? []) {
          fates[index] = scores && reason === 'lag' ? 'passedOver' : scores ? 'scored' : 'unaccounted';
        }
        for (const event of flinch?.events ?? [])
          if (event.type === 'step.done') unscored += event.unscored ?? 0;
      };
      const parser = createParser({
        onEvent: ({ data }) => {
          if (data === '[DONE]') done = true;
          else read(data);
        },
      });
      response.setEncoding('utf8');
      response.on('data', (data: string) => {
        if (head.length < 300) head += data;
        try {
          parser.feed(data);
        } catch {
          response.destroy(new Error(`status ${response.statusCode}: ${head.slice(0, 300)}`));
        }
      });
      response.once('error', reject);
      response.once('end', () => {
        if (!done) return reject(new Error(`status ${response.statusCode}: ${head.slice(0, 300)}`));
        const count = (fate: (typeof fates)[number]): number => fates.filter((each) => each === fate).length;
        resolve({
          characters,
          writingMs: last - first,
          tailMs: performance.now() - last,
          tokens: {
            scored: count('scored'),
            passedOver: count('passedOver'),
            unaccounted: count('unaccounted'),
          },
          unscored,
        });
      });
    });
    asked.end(body);
  });
}
