import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { MetricsSnapshot } from '../metrics/metric-families.js';
import { Attendant, type AttendantSide, type Shared } from './attendant.js';
import { Channel, type Message } from './channel.js';
import type { OpenedWorker, OpenWorker, PrimarySide, WorkerSide } from './worker-messages.js';

const ENTRY = fileURLToPath(new URL(`./worker${extname(import.meta.url)}`, import.meta.url));

/** A process that has not left on its own by then is killed: it says goodbye for a second. */
const CLOSE_TIMEOUT_MS = 3000;
/** One that has not answered by then is busy. */
const ANSWER_TIMEOUT_MS = 1000;

/** Methods of the primary process with which a worker reaches the others. */
export type AmongSide = Omit<PrimarySide, keyof AttendantSide | 'listening'>;

/** Sets up `node:cluster` so that its processes are workers and get connections by turns on every system. */
export function setUpCluster(): void {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const;
  cluster.setupPrimary({ exec: ENTRY, args: [], execArgv: [], serialization: 'advanced', stdio: [...stdio] });
}

/** The process of a worker, from its start to its end. */
export class WorkerProcess {
  /** No other has had it. */
  readonly name: number;
  readonly channel: Channel<WorkerSide>;
  /** Why it ended. */
  readonly ended: Promise<string>;
  readonly #worker: Worker;
  readonly #listening: Promise<void>;
  readonly #startedMs = performance.now();
  #opened: OpenedWorker | null = null;
  #snapshot: MetricsSnapshot | null = null;

  constructor(shared: Shared, among: (process: WorkerProcess) => AmongSide) {
    const worker = cluster.fork();
    this.#worker = worker;
    this.name = worker.id;
    let listening = (): void => {};
    this.#listening = new Promise((resolve) => {
      listening = resolve;
    });
    const attendant = new Attendant(shared, () => this.channel);
    this.channel = new Channel<WorkerSide>(
      (message) => {
        // The callback keeps a failure from being an `error` event: the exit that follows is handled.
        if (worker.process.connected) worker.process.send(message, () => {});
      },
      { ...attendant.side, ...among(this), listening },
    );
    worker.on('message', (message: Message) => this.channel.receive(message));
    const exit = once(worker, 'exit').then(([code, signal]) => String(signal ?? `exit code ${code}`), String);
    this.ended = exit.then((reason) => {
      attendant.gone();
      this.channel.close(new Error(`the worker process died (${reason})`));
      return reason;
    });
  }

  get pid(): number | null {
    return this.#worker.process.pid ?? null;
  }

  /** Time since its start, in milliseconds. */
  get ageMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** Once it serves. */
  get opened(): OpenedWorker | null {
    return this.#opened;
  }

  /** @throws what keeps it from serving */
  async open(options: OpenWorker): Promise<OpenedWorker> {
    await Promise.race([this.#listening, this.ended]);
    this.#opened = await this.channel.call('open', options);
    return this.#opened;
  }

  /** The same as `channel.call`, or something else where it is gone or does not answer in time. */
  async ask<Name extends keyof WorkerSide, Other>(
    other: Other,
    name: Name,
    ...args: Parameters<WorkerSide[Name]>
  ): Promise<Awaited<ReturnType<WorkerSide[Name]>> | Other> {
    const late = wait(ANSWER_TIMEOUT_MS, other, { ref: false });
    return Promise.race([this.channel.call(name, ...args).catch(() => other), late]);
  }

  /** Its counts; its last ones if it is busy. */
  async snapshot(): Promise<MetricsSnapshot | null> {
    this.#snapshot = await this.ask(this.#snapshot, 'snapshot');
    return this.#snapshot;
  }

  get lastSnapshot(): MetricsSnapshot | null {
    return this.#snapshot;
  }

  /** Ends the process, and its work under way at once. */
  async close(): Promise<void> {
    this.channel.tell('close');
    const timer = setTimeout(() => this.kill(), CLOSE_TIMEOUT_MS);
    await this.ended;
    clearTimeout(timer);
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }
}
