import { createParser } from 'eventsource-parser';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { useFolder } from '../../support/cli.js';
import { type Cut, cuttingProxy } from '../../support/cutting-proxy.js';
import { chatBody, type SocketEvent, useGateway } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { recorder } from '../../support/recorded-model.js';
import { checkEvent } from '../../support/strict-event.js';

const { written, wrap } = recorder(({ user }) => user ?? '');

const folder = useFolder();
const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.0015), {
  // A generation whose client was cut off before it knew the id stays for so long.
  settings: { streams: { heartbeat_s: 0.1, resume_s: 10 } },
  wrap,
});

const guard = { action: 'rollback', rate: 0.5, max_rollbacks: 3, candidates: 2, choose: 'uncertainty' };
const messages = [{ role: 'user', content: 'What is 12 + 30 - 5?' }];
const ask = (user: string, seed: number) =>
  chatBody({ messages, user, seed, temperature: 1, guard, resumable: true });
/** A client that hears nothing for so long takes the connection for lost. */
const SILENCE_MS = 400;

/** Cuts connections at random, by the same numbers at each run, until there were so many. */
function cutsAtRandom(most: number, largestBytes: number) {
  const random = xoroshiro128plus(20261121);
  const plan = (): Cut => {
    const loss = (['reset', 'reset', 'end', 'end', 'silence'] as const)[uniformInt(random, 0, 4)] ?? 'reset';
    return { afterBytes: uniformInt(random, 1, largestBytes), loss };
  };
  return { most, plan };
}

/** Has four clients ask, one question after the other, until the last cut. */
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

describe('connections that are cut at random points', { timeout: 240_000 }, () => {
  it('60 times: with resume a WebSocket client ends with what was written, each event once and in order', async () => {
    const CUTS = 60;
    const proxy = await cuttingProxy(Number(new URL(gateway.url).port), cutsAtRandom(CUTS, 4000));
    const seen = { events: 0, retractions: 0, unrecovered: 0, resumed: 0 };

    await untilAllCut(proxy, CUTS, async (seed) => {
      const events: SocketEvent[] = [];
      let user = '';
      for (let attempt = 0; events.at(-1)?.type !== 'generation.done'; attempt++) {
        const place = { response_id: events[0]?.response_id, epoch: events[0]?.epoch };
        if (events.length === 0) user = `${seed}-${attempt}`;
        const first =
          events.length === 0
            ? { type: 'generation.create', ...ask(user, seed) }
            : { type: 'generation.resume', ...place, offset: events.length };
        await hear(proxy.url, first, (event) => {
          if (event.type === 'generation.resumed') seen[event.recovered ? 'resumed' : 'unrecovered'] += 1;
          else if (event.type !== 'heartbeat') events.push(event);
        });
      }
      expect(events.map(({ offset }) => offset)).toEqual(events.map((_, i) => i));
      const told = events.slice(1).map(({ response_id: _, offset: __, ...fields }) => fields);
      expect(told).toEqual(written.get(user));
      expect(textOf(told)).toBe(textOf(written.get(user) ?? []));
      seen.events += events.length;
      seen.retractions += events.filter(({ type }) => type === 'token.retracted').length;
    });

    expect(proxy.cuts).toBe(CUTS);
    expect(seen.unrecovered).toBe(0);
    expect(seen.resumed).toBeGreaterThan(CUTS / 2); // the others came before the client knew the id
    expect(seen.retractions).toBeGreaterThan(0);
  });

  it('20 times: with Last-Event-ID a client of Server-Sent Events ends with what was written', async () => {
    const CUTS = 20;
    const proxy = await cuttingProxy(Number(new URL(gateway.url).port), cutsAtRandom(CUTS, 20_000));
    let resumed = 0;

    await untilAllCut(proxy, CUTS, async (seed) => {
      const events: { id?: string | undefined; data: string }[] = [];
      let user = '';
      for (let attempt = 0; events.at(-1)?.data !== '[DONE]'; attempt++) {
        const last = events.at(-1)?.id;
        if (last === undefined) user = `sse-${seed}-${attempt}`;
        else resumed += 1;
        await read(proxy.url, { ...ask(user, seed), stream: true }, last, (event) => events.push(event));
      }
      expect(events.map(({ id }) => Number(id?.split('/')[2]))).toEqual(events.map((_, i) => i));
      const deltas = events.slice(0, -1).map(({ data }) => JSON.parse(data).choices[0]?.delta.content ?? '');
      expect(deltas.join('')).toBe(textOf(written.get(user) ?? []));
    });

    expect(proxy.cuts).toBe(CUTS);
    expect(resumed).toBeGreaterThan(CUTS / 2);
  });
});

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
async function read(
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
    // What fetch says of a connection that is lost is a TypeError.
    if (!(error instanceof TypeError) && !controller.signal.aborted) throw error;
  } finally {
    clearTimeout(lost);
  }
}
