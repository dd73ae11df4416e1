import { createParser } from 'eventsource-parser';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import type { Cut } from './cutting-proxy.js';
import type { SocketEvent } from './gateway.js';
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
export async function untilAllCut(
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
export function hear(url: string, first: object, heard: (event: SocketEvent) => void): Promise<void> {
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
export function textOf(
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
