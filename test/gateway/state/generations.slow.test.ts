import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineModel } from '#gateway/index.js';
import type { Engine } from '#src/index.js';
import { useFolder } from '../../support/cli.js';
import { cutsAtRandom, hear, read, textOf, untilAllCut } from '../../support/cut-streams.js';
import { cuttingProxy } from '../../support/cutting-proxy.js';
import { chatBody, type SocketEvent } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { recorder } from '../../support/recorded-model.js';
import { hasRedis } from '../../support/redis.js';
import { GUESSED_QUESTION } from '../../support/requests.js';
import { openShared } from '../../support/shared-engines.js';
import { useTwoGateways } from '../../support/two-gateways.js';

/** More cuts by hand: STATE_RUNS=10 has 200. */
const RUNS = Number(process.env.STATE_RUNS ?? 1);

const guard = { action: 'rollback', rate: 0.5, max_rollbacks: 3, candidates: 2 };
const messages = [{ role: 'user', content: GUESSED_QUESTION }];
const ask = (user: string, seed: number) =>
  chatBody({ messages, user, seed, temperature: 1, guard, resumable: true });

describe.skipIf(!hasRedis)('two gateways with one Redis (skipped where it is not installed)', () => {
  const { written, wrap } = recorder(({ user }) => user ?? '');
  const folder = useFolder();
  let engine: Engine;
  beforeAll(async () => {
    engine = await openShared(await calibratedReasoner(folder.path('reasoner'), 0.00015));
    await engine.start();
  });
  afterAll(() => engine.close());
  const gateways = useTwoGateways({
    model: async () => wrap(await EngineModel.open('reasoner', engine)),
    config: { streams: { resume_s: 10 }, bounds: { heartbeatMs: 100 } },
  });

  /** Ways to both that lose connections. */
  async function cutBoth(cuts: number, largestBytes: number) {
    const ways = await Promise.all(
      [0, 1].map((turn) => {
        const port = Number(new URL(gateways.at(turn).url).port);
        const { most, plan } = cutsAtRandom(cuts / 2, largestBytes, turn);
        return cuttingProxy(port, { most, plan });
      }),
    );
    return {
      url: (turn: number) => ways[turn % 2]!.url,
      get cuts() {
        return ways.reduce((sum, way) => sum + way.cuts, 0);
      },
    };
  }

  const CUTS = 20 * RUNS;

  it(`go on where a WebSocket was cut at the other, ${CUTS} times, each event once and in order`, {
    timeout: 240_000 * RUNS,
  }, async () => {
    const proxies = await cutBoth(CUTS, 4000);
    const seen = { retractions: 0, unrecovered: 0, resumed: 0 };
    await untilAllCut(proxies, CUTS, async (seed) => {
      const events: SocketEvent[] = [];
      let user = '';
      for (let attempt = 0; events.at(-1)?.type !== 'generation.done'; attempt++) {
        const place = { response_id: events[0]?.response_id, epoch: events[0]?.epoch };
        if (events.length === 0) user = `${seed}-${attempt}`;
        const first =
          events.length === 0
            ? { type: 'generation.create', ...ask(user, seed) }
            : { type: 'generation.resume', ...place, offset: events.length };
        await hear(proxies.url(seed + attempt), first, (event) => {
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
    expect(proxies.cuts).toBe(CUTS);
    expect(seen.unrecovered).toBe(0);
    expect(seen.resumed).toBeGreaterThan(CUTS / 2); // the others came before the client knew the id
    expect(seen.retractions).toBeGreaterThan(0);
  });

  it('go on with Server-Sent Events that were cut at the other', { timeout: 240_000 * RUNS }, async () => {
    const cuts = 6 * RUNS;
    const proxies = await cutBoth(cuts, 20_000);
    let resumed = 0;
    await untilAllCut(proxies, cuts, async (seed) => {
      const events: { id?: string | undefined; data: string }[] = [];
      let user = '';
      for (let attempt = 0; events.at(-1)?.data !== '[DONE]'; attempt++) {
        const last = events.at(-1)?.id;
        if (last === undefined) user = `sse-${seed}-${attempt}`;
        else resumed += 1;
        const body = { ...ask(user, seed), stream: true };
        await read(proxies.url(seed + attempt), body, last, (event) => events.push(event));
      }
      expect(events.map(({ id }) => Number(id?.split('/')[2]))).toEqual(events.map((_, i) => i));
      const deltas = events.slice(0, -1).map(({ data }) => JSON.parse(data).choices[0]?.delta.content ?? '');
      expect(deltas.join('')).toBe(textOf(written.get(user) ?? []));
    });
    expect(proxies.cuts).toBe(cuts);
    expect(resumed).toBeGreaterThan(0);
  });

  it('leave nothing in Redis once nothing can be resumed', async () => {
    const left = () => gateways.redis.command('--scan', '--pattern', 'flinch:generation:*');
    while (left() !== '') await setTimeout(200);
  });
});
