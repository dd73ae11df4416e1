import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { probeDecode, probeScore } from '#src/engine/child/probe-passes.js';
import { checkpointFolder } from '../../support/golden.js';

async function options() {
  const source = await openCheckpoint(checkpointFolder('tiny-llama'));
  const sessions = new Sessions(source, { threads: 1 });
  return { source, sessions, threads: 1, contextLength: 512, prefixCacheBytes: 0 };
}

/** The devices' own tests need an adapter; the probes themselves do not. */
describe('probes', () => {
  it('pass where the sessions compute', async () => {
    await probeDecode(await options());
    await probeScore(await options());
    await probeScore(await options(), 'derivative');
  });

  it('say why a run fails', async () => {
    const given = await options();
    given.sessions.get = async () => {
      throw new Error('the device is lost');
    };
    await expect(probeDecode(given)).rejects.toThrow(/the probe run failed: .*the device is lost/);
    await expect(probeScore(given)).rejects.toThrow(/the probe run failed: .*the device is lost/);
  });
});
