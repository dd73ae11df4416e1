import { describe, it } from 'vitest';
import { useFolder } from '../../support/cli.js';
import { cutsAtRandom, resumeOverSse, resumeOverWebSocket } from '../../support/cut-streams.js';
import { cuttingProxy } from '../../support/cutting-proxy.js';
import { useGateway } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { recorder } from '../../support/recorded-model.js';

const { written, wrap } = recorder(({ user }) => user ?? '');

const folder = useFolder();
const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.00015), {
  // A generation whose client was cut off before it knew the id stays for so long.
  settings: { streams: { resume_s: 10 }, bounds: { heartbeatMs: 100 } },
  wrap,
});

async function cutting(cuts: number, largestBytes: number) {
  const proxy = await cuttingProxy(Number(new URL(gateway.url).port), cutsAtRandom(cuts, largestBytes));
  return {
    url: () => proxy.url,
    get cuts() {
      return proxy.cuts;
    },
  };
}

describe('connections that are cut at random points', () => {
  it('60 times: with resume a WebSocket client ends with what was written, each event once and in order', async () => {
    await resumeOverWebSocket(await cutting(60, 4000), 60, written);
  });

  it('20 times: with Last-Event-ID a client of Server-Sent Events ends with what was written', async () => {
    await resumeOverSse(await cutting(20, 20_000), 20, written);
  });
});
