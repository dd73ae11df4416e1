import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { debug } from './debug.js';
import { adviceFor, type Device, environmentOf } from './device.js';
import { EngineError } from './errors.js';

const ENTRY = fileURLToPath(new URL(`./child/main${extname(import.meta.url)}`, import.meta.url));

/** What a process is told first, beside its device. */
interface Opening {
  /** For messages. */
  readonly role: string;
}

/** A process that has not left on its own by then is killed. */
const CLOSE_TIMEOUT_MS = 2000;

interface FromChild {
  readonly type: string;
  readonly stream?: number;
  readonly message?: string;
  readonly device?: Device;
}

export interface ProcessStatus {
  /** Process id while it runs: for reports of its memory. */
  readonly pid: number | undefined;
  /** How often it had to be started again. */
  readonly restarts: number;
  /** What it computes on, once it has opened its model there. */
  readonly device: Device | undefined;
  /** Streams that wait for a message of it. */
  readonly waiting: number;
}

/** An engine process that died, or that could not be started. */
export interface ProcessLoss {
  readonly role: string;
  /** `died`: it ran; it is being restarted. */
  readonly what: 'died' | 'unavailable';
  /** Its signal or exit code, or why it does not start. */
  readonly reason: string;
}

/** What a stream hears of its process. */
export interface StreamListener<In> {
  receive(message: In): void;
  /** Whether it waits for a message. */
  waits(): boolean;
  /** The process is gone, and the stream with it. */
  fail(error: EngineError): void;
}

export interface StreamHandle<Out> {
  readonly stream: number;
  /** Messages to a process that has died are dropped: the listener has been told. */
  send(message: Out): void;
  detach(): void;
}

interface ProcessOptions {
  readonly onLoss?: (loss: ProcessLoss) => void;
  /** What the process runs: a module that answers `ready` or `unavailable` to the opening. */
  readonly entry?: string;
}

/**
 * One engine process as its parent sees it: started on demand, started again after a crash. The streams that were
 * under way are told; the next one finds a new process.
 */
export class EngineProcess<Out extends object, In extends FromChild> implements ProcessStatus {
  readonly #open: Opening;
  readonly #devices: readonly Device[];
  readonly #entry: string;
  readonly #onLoss: (loss: ProcessLoss) => void;
  readonly #listeners = new Map<number, StreamListener<In>>();
  #child: Promise<ChildProcess> | null = null;
  #pid: number | undefined;
  #device: Device | undefined;
  #streams = 0;
  #starts = 0;
  #closed = false;
  #closing: Promise<void> | null = null;

  /** @param devices to try in order */
  constructor(
    open: Opening,
    devices: readonly Device[],
    { onLoss = () => {}, entry = ENTRY }: ProcessOptions = {},
  ) {
    this.#open = open;
    this.#onLoss = onLoss;
    this.#devices = devices;
    this.#entry = entry;
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  get device(): Device | undefined {
    return this.#device;
  }

  get waiting(): number {
    let waiting = 0;
    for (const listener of this.#listeners.values()) if (listener.waits()) waiting += 1;
    return waiting;
  }

  /**
   * Waits until the process runs.
   * @throws EngineError `unavailable` when it cannot be started, `closed`
   */
  async ready(): Promise<ChildProcess> {
    if (this.#closed) throw new EngineError('closed', 'the engine is closed');
    this.#child ??= this.#start().catch((error: unknown) => {
      this.#child = null; // the next stream tries again
      const failure = error instanceof EngineError ? error : this.#unavailable(`: ${error}`);
      this.#lose('unavailable', failure.message);
      throw failure;
    });
    return this.#child;
  }

  async attach(listener: StreamListener<In>): Promise<StreamHandle<Out>> {
    const child = await this.ready();
    this.#streams += 1;
    const stream = this.#streams;
    this.#listeners.set(stream, listener);
    return {
      stream,
      send: (message) => {
        // With a callback, a failure is no event: the exit that follows it tells the listener.
        if (child.connected) child.send(message, () => {});
      },
      detach: () => this.#listeners.delete(stream),
    };
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  async #stop(): Promise<void> {
    const child = await this.#child?.catch(() => null);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    if (child.connected) child.disconnect();
    const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  }

  /** A process of its own for each device that is tried: a driver that fails may take its process along. */
  async #start(): Promise<ChildProcess> {
    this.#starts += 1;
    let failure: unknown;
    for (const device of this.#devices) {
      try {
        return await this.#startOn(device);
      } catch (error) {
        failure = error;
        if (this.#closed) break;
      }
    }
    throw failure;
  }

  async #startOn(device: Device): Promise<ChildProcess> {
    // 'advanced' carries typed arrays and maps. Standard output stays the command's own.
    const child = fork(this.#entry, [], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [],
      env: { ...process.env, ...environmentOf(device, this.#devices.length === 1) },
    });
    this.#pid = child.pid;
    debug('%s process %d: started for %s', this.#open.role, child.pid, device);
    const ready = new Promise<void>((resolve, reject) => {
      let reason = '';
      child.on('message', (message: In) => {
        if (message.type === 'ready') {
          this.#device = message.device;
          resolve();
        }
        if (message.type === 'unavailable') reason = `: ${message.message}${adviceFor(device)}`;
        else if (message.stream !== undefined) this.#listeners.get(message.stream)?.receive(message);
      });
      child.on('error', (error) => reject(this.#unavailable(`: ${error.message}`, error)));
      child.once('exit', (code, signal) => {
        reject(this.#unavailable(reason || ` (${signal ?? `exit code ${code}`})`));
        this.#lost(signal ?? `exit code ${code}`);
      });
    });
    child.send({ ...this.#open, device }, () => {});
    await ready;
    debug('%s process %d: ready', this.#open.role, child.pid);
    child.once('exit', (code, signal) => {
      debug('%s process %d: gone (%s)', this.#open.role, child.pid, signal ?? `exit code ${code}`);
      this.#child = null;
      this.#lose('died', signal ?? `exit code ${code}`);
      if (!this.#closed) this.ready().catch(() => {}); // whoever listens, or needs it next, hears why it does not start
    });
    return child;
  }

  #unavailable(reason: string, cause?: Error): EngineError {
    return new EngineError('unavailable', `the ${this.#open.role} process could not be started${reason}`, {
      cause,
    });
  }

  #lose(what: ProcessLoss['what'], reason: string): void {
    if (!this.#closed) this.#onLoss({ role: this.#open.role, what, reason });
  }

  #lost(how: string): void {
    this.#pid = undefined;
    this.#device = undefined;
    const error = this.#closed
      ? new EngineError('closed', 'the engine was closed')
      : new EngineError('crashed', `the ${this.#open.role} process died (${how}); it is being restarted`);
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) listener.fail(error);
  }
}
