import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { script } from '../peers/peer-part.js';
import { nodeLlamaFolder } from '../peers/peers-folder.js';
import { type AnswerSpeed, type AnswerTimes, answerSpeed } from './answer-times.js';

/** Work that is measured: a prompt of token ids, and the length of its answer. */
export interface Work {
  readonly prompt: readonly number[];
  readonly tokens: number;
}

/**
 * A program that is measured. It has the machine for itself from its opening until it is closed. It does not outlive this
 * process.
 */
export interface Contestant {
  readonly name: string;
  open(): Promise<OpenContestant>;
}

export interface OpenContestant {
  /** Leads the tree of its processes. */
  readonly pid: number;
  /** @throws Error if it writes another number of tokens */
  run(work: Work): Promise<AnswerSpeed>;
  close(): Promise<void>;
}

/** llama.cpp, by node-llama-cpp, in a process of its own. */
export const llamaContestant = (model: string, threads: number): Contestant => ({
  name: `llama.cpp, ${threads} thread${threads > 1 ? 's' : ''}`,
  open() {
    const args = [nodeLlamaFolder(), model, String(threads)];
    return openProgram(this.name, script('node_llama.js'), args);
  },
});

type Message = Partial<AnswerTimes> & { readonly error?: string };

/**
 * A script that answers one message of {@link Work} after the other, each by one of {@link AnswerTimes} or by `{ error }`.
 * Its first message says that it is ready.
 */
export async function openProgram(
  name: string,
  file: string,
  args: readonly string[],
): Promise<OpenContestant> {
  const child = fork(file, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [] });
  const kill = (): void => void child.kill('SIGKILL'); // what it has started ends with it
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
  let written = '';
  child.stderr?.on('data', (data) => {
    written = `${written}${data}`.slice(-2000);
  });
  const next = (): Promise<Message> => nextMessage(child, () => new Error(`${name} ended: ${written}`));
  await next();
  return {
    pid: child.pid!,
    run: async (work) => {
      const answer = next();
      child.send(work);
      const { tokens, end, error } = await answer;
      if (!tokens || end === undefined) throw new Error(`${name}: ${error}`);
      if (tokens.length !== work.tokens)
        throw new Error(`${name} wrote ${tokens.length} tokens instead of ${work.tokens}`);
      return answerSpeed({ tokens, end });
    },
    close: async () => {
      const closed = once(child, 'close');
      kill();
      await closed;
    },
  };
}

const nextMessage = (child: ChildProcess, ended: () => Error): Promise<Message> =>
  new Promise((resolve, reject) => {
    const onClose = (): void => reject(ended());
    const onMessage = (message: Message): void => {
      child.off('close', onClose).off('error', reject);
      resolve(message);
    };
    child.once('message', onMessage).once('close', onClose).once('error', reject);
  });
