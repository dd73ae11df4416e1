import { expect, it } from 'vitest';
import type { Contestant, Work } from '#lab/speed/contestant.js';
import { formatPeersSpeed, measurePeers } from '#lab/speed/peers-speed.js';

/** Programs that write so many tokens per second, in the first round, the second, and so on. */
function contestants(speeds: Readonly<Record<string, readonly number[]>>) {
  const log: string[] = [];
  const works: Work[] = [];
  const all = Object.entries(speeds).map(([name, values]): Contestant => {
    let round = -1;
    return {
      name,
      open: async () => {
        round += 1;
        log.push(`open ${name}`);
        return {
          pid: process.pid,
          run: async (work) => {
            works.push(work);
            return { firstSeconds: 0.5, tokensPerSecond: values[round]! };
          },
          close: async () => void log.push(`close ${name}`),
        };
      },
    };
  });
  return { all, log, works };
}

const OPTIONS = { work: { prompt: [1, 2], tokens: 40 }, rounds: 2, reference: 'b', onTurn: () => {} };

it('opens one program at a time, in turn, anew in each round', async () => {
  const { all, log } = contestants({ a: [1, 1], b: [1, 1] });
  await measurePeers(all, OPTIONS);
  const round = ['open a', 'close a', 'open b', 'close b'];
  expect(log).toEqual([...round, ...round]);
});

it('compares with the reference of the same round', async () => {
  const { all } = contestants({ a: [10, 30], b: [20, 20] });
  const rows = await measurePeers(all, OPTIONS);
  expect(rows.map(({ ratios }) => ratios)).toEqual([
    [0.5, 1.5],
    [1, 1],
  ]);
});

it('warms up with a short answer', async () => {
  const { all, works } = contestants({ b: [1] });
  await measurePeers(all, { ...OPTIONS, rounds: 1 });
  expect(works.map(({ tokens }) => tokens)).toEqual([24, 40]);
});

it('closes what it has opened if that fails', async () => {
  const { all, log } = contestants({ b: [1] });
  const failing: Contestant = {
    ...all[0]!,
    open: async () => ({ ...(await all[0]!.open()), run: () => Promise.reject(new Error('it broke')) }),
  };
  await expect(measurePeers([failing], OPTIONS)).rejects.toThrow('it broke');
  expect(log).toEqual(['open b', 'close b']);
});

it('reports a table, and the rule of what is measured', async () => {
  const { all } = contestants({ a: [10, 30, 20], b: [20, 20, 20] });
  const options = { ...OPTIONS, rounds: 3 };
  const text = formatPeersSpeed('m', await measurePeers(all, options), options);
  expect(text).toMatch(/^m: 40 tokens after a prompt of 2; ratio to b; /);
  expect(text).toContain('tokens/s: from the second token to the last, or to the last score');
  expect(text).toMatch(
    /\| a +\| +0\.50 \(0\.50–0\.50\) \| +20\.0 \(10\.0–30\.0\) \| 1\.00 \(0\.50–1\.50\) \|/,
  );
});
