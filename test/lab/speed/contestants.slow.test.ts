import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import type { Contestant } from '#lab/speed/contestant.js';
import { memoryOf } from '#lab/speed/contestant.js';
import { flinchContestants, offlineContestant } from '#lab/speed/flinch-contestants.js';
import { processTree } from '#lab/speed/process-tree.js';
import { startOf } from '#src/files/process-start.js';
import { checkpointFolder } from '../../support/golden.js';
import { isAlive, kill } from '../../support/process.js';

const model = checkpointFolder('tiny-llama');
const most = { context: 64, streams: 2 };
const flinch = flinchContestants({ model, name: 'flinch', most, precision: 'fp32', temperature: 0 });
const ids = (start: number): number[] => Array.from({ length: 6 }, (_, i) => start + i);

async function opened(contestant: Contestant) {
  const open = await contestant.open();
  onTestFinished(() => {
    if (isAlive(open.pid)) kill(open.pid);
  });
  return open;
}

it.each([0, 1, 2])('flinch runs in a process of its own, with its engine (%i)', async (index) => {
  const open = await opened(flinch[index]!);
  const measured = await open.run({ prompts: [ids(3), ids(9)], tokens: 12, positions: 18 });
  expect(measured.firstSeconds).toBeGreaterThan(0);
  expect(measured.tokensPerSecond).toBeGreaterThan(0);
  const tree = await processTree(open.pid);
  // The engine's process that writes; Adv. Pert. is of another one.
  expect(tree.length).toBeGreaterThanOrEqual(index === 2 ? 3 : 2);
  expect(await memoryOf(tree)).toBeGreaterThan((await memoryOf([open.pid]))!);
  await open.close();
  await expect.poll(() => tree.filter((pid) => startOf(pid) !== null)).toEqual([]);
});

it('scores of a finished text have no first token', async () => {
  const open = await opened(offlineContestant(model, 64));
  const measured = await open.run({ prompts: [ids(3)], tokens: 12, positions: 18 });
  expect(measured).toEqual({ firstSeconds: null, tokensPerSecond: expect.any(Number) });
  await open.close();
});

it('an error of the program is told with its name', async () => {
  const open = await opened(flinch[0]!);
  const tooLong = open.run({ prompts: [ids(3)], tokens: 1000, positions: 1006 });
  await expect(tooLong).rejects.toThrow('no scores: ');
  await open.close();
});

it('a model that is not there is told with what the program said', async () => {
  const [gone] = flinchContestants({
    model: '/nowhere',
    name: 'flinch',
    most,
    precision: 'fp32',
    temperature: 0,
  });
  await expect(gone!.open()).rejects.toThrow(/no scores ended: .*nowhere/s);
});

it('a process tree has the processes of its processes', async () => {
  const child = spawn('sh', ['-c', 'sleep 60 & echo; wait'], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const tree = await processTree(child.pid!);
  expect(tree).toHaveLength(2);
  for (const pid of tree) process.kill(pid);
});
