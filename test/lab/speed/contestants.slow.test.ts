import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import type { Contestant } from '#lab/speed/contestant.js';
import { flinchContestants } from '#lab/speed/flinch-contestant.js';
import { memoryOf, processTree } from '#lab/speed/process-tree.js';
import { startOf } from '#src/files/process-start.js';
import { checkpointFolder } from '../../support/golden.js';
import { isAlive, kill } from '../../support/process.js';

const options = { contextLength: 64, temperature: 0 };
const flinch = flinchContestants({ model: checkpointFolder('tiny-llama'), ...options });
const prompt = [3, 4, 5, 6, 7, 8];

async function opened(contestant: Contestant) {
  const open = await contestant.open();
  onTestFinished(() => {
    if (isAlive(open.pid)) kill(open.pid);
  });
  return open;
}

it('flinch runs in a process of its own, with its engine', async () => {
  const open = await opened(flinch[2]!);
  const measured = await open.run({ prompt, tokens: 12 });
  expect(measured.firstSeconds).toBeGreaterThan(0);
  expect(measured.tokensPerSecond).toBeGreaterThan(0);
  const tree = await processTree(open.pid);
  // The engine's process that writes, and another one for Adv. Pert.
  expect(tree.length).toBeGreaterThanOrEqual(3);
  expect(await memoryOf(tree)).toBeGreaterThan((await memoryOf([open.pid]))!);
  await open.close();
  await expect.poll(() => tree.filter((pid) => startOf(pid) !== null)).toEqual([]);
});

it('an error of the program has its name', async () => {
  const open = await opened(flinch[0]!);
  await expect(open.run({ prompt, tokens: 1000 })).rejects.toThrow('no scores: ');
  await open.close();
});

it('a model that is not there is reported with what the program said', async () => {
  const [gone] = flinchContestants({ model: '/nowhere', ...options });
  await expect(gone!.open()).rejects.toThrow(/no scores ended: .*nowhere/s);
});

it('a process tree has the processes of its processes', async () => {
  const child = spawn('sh', ['-c', 'sleep 60 & echo; wait'], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const tree = await processTree(child.pid!);
  expect(tree).toHaveLength(2);
  for (const pid of tree) process.kill(pid);
});
