import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Models, startGateway } from '#gateway/index.js';
import { lab, useFolder } from '../../support/cli.js';
import { ScriptedModel } from '../../support/scripted-model.js';

const { path } = useFolder();

describe('npm run lab -- gateway', () => {
  it('measures proxies side by side', async () => {
    const output = path('proxy.json');
    const args = ['--streams', '1,3', '--tokens', '4', '--interval', '5', '--rounds', '1', '--no-portkey'];
    const { code, stdout, stderr } = await lab(['gateway', 'proxy', ...args, '--output', output]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Milliseconds from sending a token to its arrival');
    const { results } = JSON.parse(readFileSync(output, 'utf8'));
    const names = ['direct', 'null proxy', 'flinch', 'flinch, no guard'];
    expect(
      results.map(({ streams, target }: { streams: number; target: string }) => [streams, target]),
    ).toEqual([1, 3].flatMap((streams) => names.map((name) => [streams, name])));
    for (const { p50, p99, streamsPerSecond } of results) {
      expect(p50).toBeGreaterThan(0);
      expect(p99).toBeGreaterThanOrEqual(p50);
      expect(streamsPerSecond).toBeGreaterThan(0);
    }
  });

  it('measures a scorer that is too slow, and accounts for every token', async () => {
    const output = path('lag.json');
    const args = [
      '--streams',
      '1',
      '--tokens',
      '80',
      '--rounds',
      '1',
      '--samples',
      '16',
      '--lag-tokens',
      '16',
    ];
    const { code, stdout, stderr } = await lab(['gateway', 'lag', ...args, '--output', output]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { results, counted } = JSON.parse(readFileSync(output, 'utf8'));
    const [off, skip, wait] = results;
    expect(off).toMatchObject({ arm: 'guard off', scored: 0, passedOver: 0 });
    expect(skip).toMatchObject({ arm: 'skip', unaccounted: 0, passedOver: counted, unscored: counted });
    expect(skip.scored + skip.passedOver).toBe(80);
    expect(counted).toBeGreaterThan(0);
    expect(wait).toMatchObject({ arm: 'wait', scored: 80, passedOver: 0, unaccounted: 0, unscored: 0 });
    expect(stdout).toContain(`passed over under skip: ${counted} at the client, ${counted} in its steps`);
  });

  it('soaks a gateway, more streams than it lets one client have by default', async () => {
    const output = path('soak.json');
    const args = ['--streams', '70', '--minutes', '0.05', '--warm-up', '0', '--every', '0.5'];
    const { code, stdout, stderr } = await lab(['gateway', 'soak', ...args, '--output', output]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('none lost, none out of order');
    const { samples, memory, counts } = JSON.parse(readFileSync(output, 'utf8'));
    expect(samples.length).toBeGreaterThan(2);
    expect(memory.after).toBeGreaterThan(1e6);
    expect(counts.events).toBeGreaterThan(70);
  });

  it('loads gateways that are there, cuts streams, and says what failed', async () => {
    const start = async (): Promise<string> => {
      const models = new Models([new ScriptedModel({ pauseMs: 2 })]);
      const gateway = await startGateway({
        models,
        config: { listen: { port: 0 } },
        logger: pino({ level: 'silent' }),
      });
      onTestFinished(() => gateway.close());
      return gateway.url;
    };
    const [a, b] = [await start(), await start()];
    const output = path('cluster.json');
    const load = [
      '--streams',
      '2',
      '--seconds',
      '1',
      '--max-tokens',
      '30',
      '--cut',
      '0.5',
      '--output',
      output,
    ];
    const { code, stdout, stderr } = await lab(['gateway', 'cluster', '--url', a, ...load]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('lost or doubled');
    const { results } = JSON.parse(readFileSync(output, 'utf8'));
    expect(results).toMatchObject([{ failed: {}, misplaced: 0 }]);
    expect(results[0].finished).toBeGreaterThan(2);
    expect(results[0].resumes).toBeGreaterThan(0);
    // These two share no state: what is cut cannot go on at the other.
    const apart = await lab(['gateway', 'cluster', '--url', `${a},${b}`, ...load]);
    expect(apart.code).toBe(1);
    expect(apart.stdout).toMatch(/\d+ not_recovered/);
  });
});
