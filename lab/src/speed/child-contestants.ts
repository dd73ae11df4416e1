import { type ChildProcess, fork, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { nodeLlamaFolder } from '../peers/folder.js';
import { script } from '../peers/part.js';
import { type Contestant, checkCount, memoryOf, type Work } from './contestant.js';
import { givenText, isOffline } from './flinch-contestants.js';

/** A program that answers one request after the other, each by one message. */
interface Program {
  readonly child: ChildProcess;
  /** @returns how many tokens each answer has */
  ask(message: object): Promise<readonly number[]>;
}

/** llama.cpp, by node-llama-cpp, in a process of its own. */
export async function openNodeLlama(name: string, model: string): Promise<Contestant> {
  const threads = String(availableParallelism());
  const child = fork(script('node_llama.js'), [nodeLlamaFolder(), model, threads], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: [],
  });
  const program = await started(name, child, (message) => child.send(message));
  return {
    ...contestant(name, program, ({ prompts, tokens, first }) => ({ prompts, tokens: first ? 1 : tokens })),
    does: () => true,
  };
}

/**
 * PyTorch, scoring a finished text as flinch does.
 * @param python with torch
 * @returns `null` if it is not there, or has no torch
 */
export async function openTorch(
  python: string,
  folder: string,
  reference: string,
): Promise<Contestant | null> {
  const threads = String(availableParallelism());
  const child = spawn(python, [script('offline_scores.py'), folder, threads], { stdio: 'pipe' });
  const name = 'PyTorch, offline scores of a text';
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => child.emit('message', JSON.parse(line)));
  const send = (message: object): boolean => child.stdin.write(`${JSON.stringify(message)}\n`);
  const program = await started(name, child, send).catch((error: unknown) => {
    if (/No module named 'torch'|ENOENT/.test(String(error))) return null;
    throw error;
  });
  if (!program) return null;
  return {
    ...contestant(name, program, ({ prompts: [ids = []], tokens }) => ({
      prompt: ids,
      text: givenText(ids, tokens),
    })),
    reference,
    does: isOffline,
  };
}

function contestant(
  name: string,
  { child, ask }: Program,
  message: (work: Work) => object,
): Omit<Contestant, 'does'> {
  return {
    name,
    run: async (work) => checkCount(name, await ask(message(work)), work.first ? 1 : work.tokens),
    memory: () => memoryOf(child.pid === undefined ? [] : [child.pid]),
    turn: (mine) => void child.kill(mine ? 'SIGCONT' : 'SIGSTOP'),
    close: async () => {
      child.kill('SIGKILL');
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

interface Answer {
  /** Ids or scores of tokens. */
  readonly answers?: readonly (readonly number[])[];
  readonly error?: string;
}

/** Waits for its first message: it is ready. */
async function started(
  name: string,
  child: ChildProcess,
  send: (message: object) => boolean,
): Promise<Program> {
  let written = '';
  child.stderr?.on('data', (data) => {
    written = `${written}${data}`.slice(-2000);
  });
  const next = (): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error(`${name} ended: ${written}`));
      const message = (answer: Answer): void => {
        child.off('close', ended).off('error', reject);
        resolve(answer);
      };
      child.once('message', message).once('close', ended).once('error', reject);
    });
  await next();
  return {
    child,
    ask: async (message) => {
      const answer = next();
      send(message);
      const { answers, error } = await answer;
      if (!answers) throw new Error(`${name}: ${error}`);
      return answers.map(({ length }) => length);
    },
  };
}
