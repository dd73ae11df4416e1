import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type AnswerTimes, decodeSpeed } from './answer-times.js';
import { checkCount, type Measured, type OpenContestant, type Work } from './contestant.js';

/** What is written: the prompt apart from the rest. */
export const writing = (answers: readonly AnswerTimes[]): Measured => decodeSpeed(answers);

/** A text that is scored as a whole: from the request to the scores. */
export const wholeText = (answers: readonly AnswerTimes[]): Measured => ({
  firstSeconds: null,
  tokensPerSecond:
    (1000 * answers.flatMap(({ tokens }) => tokens).length) / Math.max(...answers.map(({ end }) => end)),
});

interface Talk {
  readonly send: (work: Work) => unknown;
  readonly read: (answers: readonly AnswerTimes[]) => Measured;
}

interface Message {
  readonly answers?: readonly AnswerTimes[];
  readonly error?: string;
}

/** A program that answers one {@link Work} after the other, each by one message. Its first message says that it is ready. */
export async function openProgram(
  name: string,
  child: ChildProcess,
  { send, read }: Talk,
): Promise<OpenContestant> {
  const kill = (): void => void child.kill('SIGKILL'); // what it has started ends with it
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
  let written = '';
  child.stderr?.on('data', (data) => {
    written = `${written}${data}`.slice(-2000);
  });
  const next = (): Promise<Message> =>
    new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error(`${name} ended: ${written}`));
      const message = (answer: Message): void => {
        child.off('close', ended).off('error', reject);
        resolve(answer);
      };
      child.once('message', message).once('close', ended).once('error', reject);
    });
  await next();
  return {
    pid: child.pid!,
    run: async (work) => {
      const answer = next();
      send(work);
      const { answers, error } = await answer;
      if (!answers) throw new Error(`${name}: ${error}`);
      checkCount(
        name,
        answers.map(({ tokens }) => tokens.length),
        work.tokens,
      );
      return read(answers);
    },
    close: async () => {
      const closed = once(child, 'close');
      kill();
      await closed;
    },
  };
}
