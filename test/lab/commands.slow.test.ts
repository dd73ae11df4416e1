import { describe, expect, it } from 'vitest';
import { lab } from '../support/cli.js';
import { checkpointFolder } from '../support/golden.js';
import { tableCells } from '../support/markup.js';

describe('npm run lab', () => {
  it('measures tokens by the length of the text, and streams', async () => {
    const model = checkpointFolder('tiny-llama');
    const { code, stdout, stderr } = await lab(['speed', '--model', model, '--rounds', '1']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const rows = tableCells(stdout);
    expect(rows[0]).toEqual(['', '64', '128', '256', '256 to 64']);
    expect(rows.map(([name]) => name)).toEqual(
      expect.arrayContaining([
        'writing with the default scores',
        'Adv. Pert.',
        'streams',
        'writing 24 tokens',
        'writing with Adv. Pert.',
      ]),
    );
    for (const cell of rows.at(-1)!.slice(1)) expect(Number(cell)).toBeGreaterThan(0);
    expect(stdout).not.toContain('NaN');
  });

  it('measures proxies side by side', async () => {
    const args = ['--streams', '1,3', '--tokens', '4', '--interval', '5', '--rounds', '1', '--no-portkey'];
    const { code, stdout, stderr } = await lab(['gateway', ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const rows = tableCells(stdout).slice(1);
    const names = ['direct', 'null proxy', 'flinch', 'flinch, no guard'];
    expect(rows.map(([streams, name]) => [streams, name])).toEqual(
      ['1', '3'].flatMap((streams) => names.map((name) => [streams, name])),
    );
    for (const [, , p50, p99, , , streamsPerSecond] of rows) {
      expect(Number(p50)).toBeGreaterThan(0);
      expect(Number(p99)).toBeGreaterThanOrEqual(Number(p50));
      expect(Number(streamsPerSecond)).toBeGreaterThan(0);
    }
  });

  it('says how a model is set up that is not', async () => {
    const nothing = { FLINCH_PEERS: '/nowhere' };
    const { code, stderr } = await lab(['peers-speed', 'qwen-0.5b'], '', nothing);
    expect([code, stderr]).toEqual([
      1,
      'flinch: qwen-0.5b is not set up: npm run lab -- peers up qwen-0.5b\n',
    ]);
  });
});
