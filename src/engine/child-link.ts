import { type ChildProcess, fork } from 'node:child_process';
import { StallWatch } from './stall-watch.js';

/** A process that has not left on its own by then is killed. */
const CLOSE_TIMEOUT_MS = 2000;

/** How a process ended. */
export interface ChildEnd {
  /** `stalled`: it stood and was killed. */
  readonly how: 'failed' | 'exited' | 'stalled';
  /** Why it could not be started, its signal or exit code, or for how long it stood. */
  readonly reason: string;
}

export interface ChildLinkOptions<In> {
  /** The module that it runs. */
  readonly entry: string;
  readonly env: NodeJS.ProcessEnv;
  /** Time without a message after which the process counts as stalled; if absent, it is not watched. */
  readonly stallMs: number | undefined;
  readonly receive: (message: In) => void;
  /** Called once with the reason of the end, also if the process could not be started. Never within the constructor. */
  readonly ended: (end: ChildEnd) => void;
}

/** Children that run. A run of a model hears of nothing until it ends: it must not outlive this process for minutes. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A child process and its messages, from start to end. Starting it never throws: that is an end, too. */
export class ChildLink<In> {
  readonly #child: ChildProcess | null;
  readonly #watch: StallWatch | null = null;
  readonly #ended: (end: ChildEnd) => void;
  readonly #over: Promise<void>;
  #resolveOver: () => void = () => {};
  #isOver = false;

  constructor({ entry, env, stallMs, receive, ended }: ChildLinkOptions<In>) {
    this.#ended = ended;
    this.#over = new Promise((resolve) => {
      this.#resolveOver = resolve;
    });
    const child = forkOrError(entry, env);
    if (child instanceof Error) {
      this.#child = null;
      process.nextTick(() => this.#end({ how: 'failed', reason: child.message }));
      return;
    }
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    // Out of descriptors, or at the limit of processes, it has neither channel nor exit.
    child.on('error', ({ message }) => this.#kill({ how: 'failed', reason: message }));
    child.once('exit', (code, signal) => this.#end({ how: 'exited', reason: signal ?? `exit code ${code}` }));
    child.on('message', (message: In) => {
      if (this.#isOver) return;
      this.#watch?.heard();
      receive(message);
    });
    if (stallMs === undefined) return;
    const ping = (): void => this.send({ type: 'ping' });
    const stalled = (): void =>
      this.#kill({ how: 'stalled', reason: `no progress for ${Number((stallMs / 1000).toFixed(1))} s` });
    this.#watch = new StallWatch({ limitMs: stallMs, ping, stalled });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Messages to a process that has ended are dropped. */
  send(message: object): void {
    // If there is a callback, a failure emits no `error` event: `ended` reports the end that follows.
    if (this.#child?.connected) this.#child.send(message, () => {});
  }

  /** Lets it leave, and kills it if it does not. */
  async close(): Promise<void> {
    if (this.#child?.connected) this.#child.disconnect();
    const killed = (): void => this.#kill({ how: 'exited', reason: 'SIGKILL' });
    const timer = setTimeout(killed, CLOSE_TIMEOUT_MS);
    await this.#over;
    clearTimeout(timer);
  }

  /** Ends the link at once, even if the system cannot end the process now: a driver may hold it. */
  #kill(end: ChildEnd): void {
    if (this.#isOver) return;
    this.#end(end);
    this.#child?.kill('SIGKILL');
  }

  #end(end: ChildEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#child && end.how === 'failed') running.delete(this.#child);
    this.#watch?.stop();
    this.#resolveOver();
    this.#ended(end);
  }
}

function forkOrError(entry: string, env: NodeJS.ProcessEnv): ChildProcess | Error {
  try {
    // 'advanced' carries typed arrays and maps. Standard output stays the command's own.
    return fork(entry, [], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [],
      env,
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
