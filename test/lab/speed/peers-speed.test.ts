import { expect, it } from 'vitest';
import type { Contestant, Work } from '#lab/speed/contestant.js';
import { formatPeersSpeed, type Job, measurePeers } from '#lab/speed/peers-speed.js';

const job = (streams: number): Job => ({
  streams,
  promptTokens: 2,
  prompts: (round) => Array.from({ length: streams }, (_, stream) => [round, stream]),
});

/** Programs that write so many tokens per second, in the first round, the second, and so on. */
function contestants(speeds: Readonly<Record<string, readonly number[]>>) {
  const log: string[] = [];
  const works: Work[] = [];
  const all = Object.entries(speeds).map(([name, values]): Contestant => {
    let round = -1;
    return {
      name,
      reference: 'b',
      does: ({ prompts }) => name !== 'c' || prompts.length === 1,
      open: async () => {
        round += 1;
        log.push(`open ${name}`);
        return {
          pid: process.pid,
          run: async (work) => {
            works.push(work);
            return { firstSeconds: name === 'c' ? null : 0.5, tokensPerSecond: values[round]! };
          },
          close: async () => void log.push(`close ${name}`),
        };
      },
    };
  });
  return { all, log, works };
}

const OPTIONS = { model: 'm', tokens: 20, onTurn: () => {} };

it('opens one program at a time, in turn, anew in each round', async () => {
  const { all, log } = contestants({ a: [1, 1], b: [1, 1] });
  await measurePeers(all, { ...OPTIONS, jobs: [job(1)], rounds: 2 });
  const round = ['open a', 'close a', 'open b', 'close b'];
  expect(log).toEqual([...round, ...round]);
});

it('compares with the reference of the same round, where both do the work', async () => {
  const { all } = contestants({ a: [10, 30], b: [20, 20], c: [5, 5] });
  const { rows } = await measurePeers(all, { ...OPTIONS, jobs: [job(1), job(4)], rounds: 2 });
  expect(rows.map(({ results }) => results.map(({ ratios }) => ratios))).toEqual([
    [
      [0.5, 1.5],
      [0.5, 1.5],
    ],
    [
      [1, 1],
      [1, 1],
    ],
    [[0.25, 0.25]],
  ]);
  expect(rows[2]!.results[0]!.firstSeconds).toEqual([]);
});

it('warms up with a short answer to another prompt, with room for the whole', async () => {
  const { all, works } = contestants({ b: [1] });
  await measurePeers(all, { ...OPTIONS, tokens: 40, jobs: [job(1)], rounds: 1 });
  expect(works).toEqual([
    { prompts: [[0, 0]], tokens: 24, positions: 42 },
    { prompts: [[1, 0]], tokens: 40, positions: 42 },
  ]);
});

it('closes what it has opened if that fails', async () => {
  const { all, log } = contestants({ b: [1] });
  const failing: Contestant = {
    ...all[0]!,
    open: async () => ({ ...(await all[0]!.open()), run: () => Promise.reject(new Error('it broke')) }),
  };
  const measured = measurePeers([failing], { ...OPTIONS, jobs: [job(1)], rounds: 1 });
  await expect(measured).rejects.toThrow('it broke');
  expect(log).toEqual(['open b', 'close b']);
});

it('reports a table for each job, and the rule of what is measured', async () => {
  const { all } = contestants({ a: [10, 30, 20], b: [20, 20, 20], c: [5, 5, 5] });
  const model = await measurePeers(all, { ...OPTIONS, jobs: [job(1), job(4)], rounds: 3 });
  const machine = { cpu: 'CPU', cores: 2, node: 'v20' };
  const text = formatPeersSpeed({ machine, tokens: 20, rounds: 3, models: [model] });
  expect(text).toContain('tokens/s: from the second token to the last, of scored streams to the last score');
  const [, one = '', four = ''] = text.split(/^(?=m, )/m);
  expect(one).toMatch(/^m, 1 stream, prompt of 2 tokens; ratio to b\n/);
  expect(one).toMatch(
    /\| a +\| +0\.50 \(0\.50–0\.50\) \| +20\.00 \(10\.00–30\.00\) \| 1\.00 \(0\.50–1\.50\) \|/,
  );
  expect(one).toMatch(/\| c +\| +\| +5\.00 /);
  expect(four).toMatch(/^m, 4 streams/);
  expect(four).not.toContain('| c');
});
