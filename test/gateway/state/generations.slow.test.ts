import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { EngineModel } from '#gateway/index.js';
import type { Engine } from '#src/index.js';
import { useFolder } from '../../support/cli.js';
import { cutsAtRandom, resumeOverSse, resumeOverWebSocket } from '../../support/cut-streams.js';
import { cuttingProxy } from '../../support/cutting-proxy.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { recorder } from '../../support/recorded-model.js';
import { hasRedis } from '../../support/redis.js';
import { openShared } from '../../support/shared-engines.js';
import { useTwoGateways } from '../../support/two-gateways.js';

/** More cuts by hand: STATE_RUNS=10 has 200. */
const RUNS = Number(process.env.STATE_RUNS ?? 1);

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
    await resumeOverWebSocket(await cutBoth(CUTS, 4000), CUTS, written);
  });

  it('go on with Server-Sent Events that were cut at the other', { timeout: 240_000 * RUNS }, async () => {
    await resumeOverSse(await cutBoth(6 * RUNS, 20_000), 6 * RUNS, written);
  });

  it('leave nothing in Redis once nothing can be resumed', async () => {
    const left = () => gateways.redis.command('--scan', '--pattern', 'flinch:generation:*');
    while (left() !== '') await setTimeout(200);
  });
});
