import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { nodeLlamaFolder } from '../peers/folder.js';
import { script } from '../peers/part.js';
import type { AnswerTimes } from './answer-times.js';
import type { Contestant, OpenContestant, Work } from './contestant.js';
import { isOffline } from './flinch-contestants.js';
import { givenText } from './flinch-process.js';
import { openProgram, wholeText, writing } from './program.js';

/** llama.cpp, by node-llama-cpp, in a process of its own. */
export const nodeLlamaContestant = (
  name: string,
  { model, threads, reference }: { model: string; threads: number; reference: string },
): Contestant => ({
  name,
  reference,
  does: () => true,
  open: () => {
    const child = fork(script('node_llama.js'), [nodeLlamaFolder(), model, String(threads)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: [],
    });
    return openProgram(name, child, { send: (work) => child.send(work), read: writing });
  },
});

/**
 * PyTorch, scoring a finished text as flinch does.
 * @param python with torch
 */
export const torchContestant = (python: string, folder: string, reference: string): Contestant => ({
  name: TORCH,
  reference,
  does: isOffline,
  open: () => openTorch(python, folder),
});

const TORCH = 'PyTorch, offline scores of a text';

function openTorch(python: string, folder: string): Promise<OpenContestant> {
  const threads = String(availableParallelism());
  const child = spawn(python, [script('offline_scores.py'), folder, threads], { stdio: 'pipe' });
  let start = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const end = performance.now() - start;
    const { answers }: { readonly answers?: readonly (readonly number[])[] } = JSON.parse(line);
    const times = answers?.map((scores): AnswerTimes => ({ tokens: scores.map(() => end), end }));
    child.emit('message', { answers: times });
  });
  const send = ({ prompts: [prompt = []], tokens }: Work): void => {
    start = performance.now();
    child.stdin.write(`${JSON.stringify({ prompt, text: givenText(prompt, tokens) })}\n`);
  };
  return openProgram(TORCH, child, { send, read: wholeText });
}

/** @returns whether this Python has torch */
export async function hasTorch(python: string): Promise<boolean> {
  const child = spawn(python, ['-c', 'import torch'], { stdio: 'ignore' });
  const [code] = await once(child, 'close').catch(() => [null]); // there is no such program
  return code === 0;
}
