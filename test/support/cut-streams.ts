import { createParser } from 'eventsource-parser';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import type { Cut } from './cutting-proxy.js';
import { chatBody, type SocketEvent } from './gateway.js';
import { GUESSED_QUESTION } from './requests.js';
import { checkEvent } from './strict-event.js';

/** A client that hears nothing for so long takes the connection for lost. */
const SILENCE_MS = 400;

/** Cuts connections at random, by the same numbers at each run, until there were so many. */
export function cutsAtRandom(most: number, largestBytes: number, seed = 0) {
  const random = xoroshiro128plus(20261121 + seed);
  const plan = (): Cut => {
    const loss = (['reset', 'reset', 'end', 'end', 'silence'] as const)[uniformInt(random, 0, 4)] ?? 'reset';
    return { afterBytes: uniformInt(random, 1, largestBytes), loss };
  };
  return { most, plan };
}

/** Lets four clients ask, one question after the other, until the last cut. */
async function untilAllCut(
  proxy: { readonly cuts: number },
  most: number,
  run: (seed: number) => Promise<void>,
) {
  let seed = 0;
  const client = async (): Promise<void> => {
    while (proxy.cuts < most) await run(seed++);
  };
  await Promise.all([client(), client(), client(), client()]);
}

/** One connection's part of a generation: what is heard until it is lost or the end is there. */
function hear(url: string, first: object, heard: (event: SocketEvent) => void): Promise<void> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream`, 'flinch.v1');
    const lost = setTimeout(() => socket.terminate(), SILENCE_MS);
    socket.on('error', () => {}); // `close` follows
    socket.on('close', () => {
      clearTimeout(lost);
      resolve();
    });
    socket.on('open', () => socket.send(JSON.stringify(first)));
    socket.on('message', (data) => {
      lost.refresh();
      const event: SocketEvent = JSON.parse(data.toString());
      checkEvent(event);
      heard(event);
      if (event.type === 'generation.done') socket.close(1000);
    });
  });
}

/** The response as it stands after these events. */
function textOf(
  events: readonly { type?: unknown; index?: unknown; text?: unknown; from?: unknown }[],
): string {
  const tokens: unknown[] = [];
  for (const event of events) {
    if (event.type === 'token.delta') {
      expect(event.index).toBe(tokens.length);
      tokens.push(event.text);
    } else if (event.type === 'token.retracted') {
      tokens.splice(Number(event.from));
    }
  }
  return tokens.join('');
}

/** One connection's part of a streamed completion. */
export async function read(
  url: string,
  body: object,
  lastEventId: string | undefined,
  onEvent: (event: { id?: string | undefined; data: string }) => void,
): Promise<void> {
  const controller = new AbortController();
  // Ahead of the first event, which is a whole step, there are no signs of life.
  const patience = lastEventId === undefined ? 10 * SILENCE_MS : SILENCE_MS;
  let lost = setTimeout(() => controller.abort(), patience);
  const parser = createParser({ onEvent });
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Connection: 'close',
        ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
      },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    expect(response.status).toBe(200);
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      clearTimeout(lost);
      lost = setTimeout(() => controller.abort(), SILENCE_MS);
      parser.feed(decoder.decode(bytes, { stream: true }));
    }
  } catch (error) {
    // fetch reports a lost connection as a TypeError.
    if (!(error instanceof TypeError) && !controller.signal.aborted) throw error;
  } finally {
    clearTimeout(lost);
  }
}

/** A gateway's address behind something that cuts connections, for the next attempt. */
interface Cutting {
  url(turn: number): string;
  readonly cuts: number;
}

const guard = { action: 'rollback', rate: 0.5, max_rollbacks: 3, candidates: 2 };
const messages = [{ role: 'user', content: GUESSED_QUESTION }];
const ask = (user: string, seed: number) =>
  chatBody({ messages, user, seed, temperature: 1, guard, resumable: true });

/** What a model wrote, by `user`. */
interface Written {
  get(user: string): readonly object[] | undefined;
}

/** Until all is cut, clients with WebSocket and `resume` end with what was written, each event once and in order. */
export async function resumeOverWebSocket(proxy: Cutting, cuts: number, written: Written): Promise<void> {
  const seen = { retractions: 0, unrecovered: 0, resumed: 0 };
  await untilAllCut(proxy, cuts, async (seed) => {
    const events: SocketEvent[] = [];
    let user = '';
    for (let attempt = 0; events.at(-1)?.type !== 'generation.done'; attempt++) {
      const place = { response_id: events[0]?.response_id, epoch: events[0]?.epoch };
      if (events.length === 0) user = `${seed}-${attempt}`;
      const first =
        events.length === 0
          ? { type: 'generation.create', ...ask(user, seed) }
          : { type: 'generation.resume', ...place, offset: events.length };
      await hear(proxy.url(seed + attempt), first, (event) => {
        if (event.type === 'generation.resumed') seen[event.recovered ? 'resumed' : 'unrecovered'] += 1;
        else if (event.type !== 'heartbeat') events.push(event);
      });
    }
    expect(events.map(({ offset }) => offset)).toEqual(events.map((_, i) => i));
    const told = events.slice(1).map(({ response_id: _, offset: __, ...fields }) => fields);
    expect(told).toEqual(written.get(user));
    expect(textOf(told)).toBe(textOf(written.get(user) ?? []));
    seen.retractions += events.filter(({ type }) => type === 'token.retracted').length;
  });
  expect(proxy.cuts).toBe(cuts);
  expect(seen.unrecovered).toBe(0);
  expect(seen.resumed).toBeGreaterThan(cuts / 2); // the others came before the client knew the id
  expect(seen.retractions).toBeGreaterThan(0);
}

/** The same with Server-Sent Events and `Last-Event-ID`. */
export async function resumeOverSse(proxy: Cutting, cuts: number, written: Written): Promise<void> {
  let resumed = 0;
  await untilAllCut(proxy, cuts, async (seed) => {
    const events: { id?: string | undefined; data: string }[] = [];
    let user = '';
    for (let attempt = 0; events.at(-1)?.data !== '[DONE]'; attempt++) {
      const last = events.at(-1)?.id;
      if (last === undefined) user = `sse-${seed}-${attempt}`;
      else resumed += 1;
      const body = { ...ask(user, seed), stream: true };
      await read(proxy.url(seed + attempt), body, last, (event) => events.push(event));
    }
    expect(events.map(({ id }) => Number(id?.split('/')[2]))).toEqual(events.map((_, i) => i));
    const deltas = events.slice(0, -1).map(({ data }) => JSON.parse(data).choices[0]?.delta.content ?? '');
    expect(deltas.join('')).toBe(textOf(written.get(user) ?? []));
  });
  expect(proxy.cuts).toBe(cuts);
  expect(resumed).toBeGreaterThan(cuts / 2 - 3);
}
