import { describe, expect, it } from 'vitest';
import { useFolder } from '../../support/cli.js';
import { cutsAtRandom, hear, read, textOf, untilAllCut } from '../../support/cut-streams.js';
import { cuttingProxy } from '../../support/cutting-proxy.js';
import { chatBody, type SocketEvent, useGateway } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { recorder } from '../../support/recorded-model.js';
import { GUESSED_QUESTION } from '../../support/requests.js';

const { written, wrap } = recorder(({ user }) => user ?? '');

const folder = useFolder();
const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.00015), {
  // A generation whose client was cut off before it knew the id stays for so long.
  settings: { streams: { resume_s: 10 }, bounds: { heartbeatMs: 100 } },
  wrap,
});

const guard = { action: 'rollback', rate: 0.5, max_rollbacks: 3, candidates: 2 };
const messages = [{ role: 'user', content: GUESSED_QUESTION }];
const ask = (user: string, seed: number) =>
  chatBody({ messages, user, seed, temperature: 1, guard, resumable: true });

describe('connections that are cut at random points', () => {
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
