import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { flinch, useFolder } from '../../support/cli.js';

const { path } = useFolder();

describe('flinch bench gateway', () => {
  it('measures proxies side by side', async () => {
    const output = path('proxy.json');
    const args = ['--streams', '1,3', '--tokens', '4', '--interval', '5', '--rounds', '1', '--no-portkey'];
    const { code, stdout, stderr } = await flinch(['bench', 'gateway', 'proxy', ...args, '--output', output]);
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
    const { code, stdout, stderr } = await flinch(['bench', 'gateway', 'lag', ...args, '--output', output]);
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
    const { code, stdout, stderr } = await flinch(['bench', 'gateway', 'soak', ...args, '--output', output]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('none lost, none out of order');
    const { samples, memory, counts } = JSON.parse(readFileSync(output, 'utf8'));
    expect(samples.length).toBeGreaterThan(2);
    expect(memory.after).toBeGreaterThan(1e6);
    expect(counts.events).toBeGreaterThan(70);
  });
});
