import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { z } from 'zod';

/** Server that streams are requested from. */
export interface Target {
  readonly name: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further fields of the request. */
  readonly fields?: object;
}

export interface Load {
  readonly streams: number;
  readonly tokens: number;
  /** Milliseconds between two tokens of a stream; 0 for as fast as they come. */
  readonly interval: number;
}

export interface Measured {
  /** Delay of each token, from its sending to its arrival, in milliseconds. */
  readonly delays: Float64Array;
  readonly seconds: number;
}

/** Time within which the streams of a run begin, one after the other; when none is paced, all begin at once. */
const RAMP_MS = 2000;

const chunk = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }) })),
});

/**
 * Streams side by side, each read to its end, on connections that are opened for them: one that was idle may be closed
 * by its server at the moment in which it is used again.
 *
 * @throws Error for a stream that is not whole
 */
export async function runStreams(target: Target, load: Load): Promise<Measured> {
  const agent = new Agent({ keepAlive: true });
  const delays = new Float64Array(load.streams * load.tokens);
  let count = 0;
  const start = performance.now();
  // At the pace of a model, streams do not start at the same moment.
  const apart = load.interval > 0 ? RAMP_MS / load.streams : 0;
  const one = async (_: unknown, i: number): Promise<void> => {
    if (apart > 0) await setTimeout(i * apart);
    await readStream(target, load, agent, (ms) => {
      delays[count++] = ms;
    });
  };
  try {
    await Promise.all(Array.from({ length: load.streams }, one));
  } finally {
    agent.destroy();
  }
  if (count !== delays.length) throw new Error(`${target.name}: ${count} tokens of ${delays.length}`);
  return { delays: delays.sort(), seconds: (performance.now() - start) / 1000 };
}

function readStream(
  { name, url, headers, fields }: Target,
  { tokens, interval }: Load,
  agent: Agent,
  seen: (ms: number) => void,
): Promise<void> {
  const content = `tokens=${tokens} interval=${interval}`;
  const body = JSON.stringify({
    model: 'bench',
    stream: true,
    messages: [{ role: 'user', content }],
    ...fields,
  });
  return new Promise((resolve, reject) => {
    const fail = (why: unknown): void => reject(new Error(`${name}: ${why}`));
    const asked = request(`${url}/v1/chat/completions`, {
      agent,
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...headers },
    });
    asked.once('error', fail);
    asked.once('response', (response) => {
      let done = false;
      let text = '';
      const parser = createParser({
        onEvent: ({ data }) => {
          if (data === '[DONE]') done = true;
          else for (const { delta } of chunk.parse(JSON.parse(data)).choices) arrived(delta.content ?? '');
        },
      });
      const arrived = (part: string): void => {
        const now = process.hrtime.bigint();
        text += part;
        const times = text.split(' ');
        text = times.pop() ?? '';
        for (const time of times) seen(Number(now - BigInt(time)) / 1e6);
      };
      response.setEncoding('utf8');
      let head = '';
      response.on('data', (data: string) => {
        if (head.length < 300) head += data;
        try {
          parser.feed(data);
        } catch (error) {
          fail(error);
        }
      });
      response.once('end', () =>
        done ? resolve() : fail(`status ${response.statusCode}: ${head.slice(0, 300)}`),
      );
      response.once('error', fail);
    });
    asked.end(body);
  });
}

/** Percentile of sorted values. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
