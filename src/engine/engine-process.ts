import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Conversion } from '../checkpoint/conversion.js';
import { childEnvironment } from './child-environment.js';
import { type ChildEnd, ChildLink } from './child-link.js';
import { debug } from './debug.js';
import { adviceFor, type Backend, environmentOf } from './device.js';
import { EngineError } from './engine-errors.js';
import type { OpenMessage } from './engine-messages.js';
import type { ServerStatus } from './server/score-servers.js';

const ENTRY = fileURLToPath(new URL(`./child/main${extname(import.meta.url)}`, import.meta.url));

/** First message to a process, beside its device. */
interface Opening {
  /** Name in messages. */
  readonly role: string;
  /** Not `null` where products are of integers. */
  readonly integers?: OpenMessage['integers'];
}

/** Time until a restart that failed is tried again; it doubles with each failure, up to the most. */
const RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;

interface FromChild {
  readonly type: string;
  readonly stream?: number;
  readonly message?: string;
  readonly device?: Backend;
  readonly servers?: readonly ServerStatus[];
  readonly progress?: Conversion;
}

export interface ProcessStatus {
  /** Process id while it runs: for reports of its memory. */
  readonly pid: number | undefined;
  readonly restarts: number;
  /** Device of the process, once it has opened its model there. */
  readonly device: Backend | undefined;
  /** Streams that wait for a message of it. */
  readonly waiting: number;
  readonly servers: readonly ServerStatus[];
}

/** An engine process that died or stalled, or that could not be started. */
export interface ProcessLoss {
  readonly role: string;
  /**
   * `died`, `stalled`: it ran; it is being restarted. `server_lost`: it goes on without one of its servers. `graphs_lost`: it
   * runs without CUDA graphs.
   */
  readonly what: 'died' | 'stalled' | 'unavailable' | 'server_lost' | 'graphs_lost';
  /** Its signal or exit code, for how long it stood, or why it does not start. */
  readonly reason: string;
}

/** Receives the messages of a stream's process, and its end. */
export interface StreamListener<In> {
  receive(message: In): void;
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

/** A process as those see it that have streams in it; it may be the child of another process (gateway/workers). */
export interface ProcessLink<Out extends object, In> extends ProcessStatus {
  /**
   * Waits until it runs.
   * @throws EngineError `unavailable` when it cannot be started, `closed`
   */
  ready(): Promise<void>;
  attach(listener: StreamListener<In>): Promise<StreamHandle<Out>>;
  close(): Promise<void>;
}

interface ProcessOptions {
  readonly onLoss?: (loss: ProcessLoss) => void;
  /** Its id or device is another. */
  readonly onChange?: () => void;
  readonly onConversion?: ((progress: Conversion) => void) | undefined;
  /** Module that the process runs; it answers `ready` or `unavailable` to the opening. */
  readonly entry?: string;
  /** Milliseconds without progress after which it is killed, by device; its module then answers `ping` with `pong`. */
  readonly stallMs?: (device: Backend) => number;
}

/**
 * Of the process that writes: glibc gives back to the system what is freed while weights are packed; else much of it stays: 0.6 GB of 2.8 for a model
 * of 1.5 B parameters.
 */
const WHILE_PACKING: NodeJS.ProcessEnv = { MALLOC_MMAP_THRESHOLD_: String(2 ** 20) };

/**
 * One engine process as its parent sees it: started on demand, killed if it stands, started again after its end until
 * that succeeds. The streams that were under way are told; the next one finds a new process.
 */
export class EngineProcess<Out extends object, In extends FromChild> implements ProcessLink<Out, In> {
  device: Backend | undefined;
  servers: readonly ServerStatus[] = [];
  readonly #open: Opening;
  readonly #devices: readonly Backend[];
  readonly #options: ProcessOptions;
  readonly #listeners = new Map<number, StreamListener<In>>();
  #started: Promise<void> | null = null;
  #link: ChildLink<In> | null = null;
  #retry: NodeJS.Timeout | undefined;
  /** Restarts that have failed since the last that did not. */
  #failures = 0;
  #hasRun = false;
  #streams = 0;
  #starts = 0;
  #closed = false;
  #closing: Promise<void> | null = null;

  /** @param devices to try in order */
  constructor(open: Opening, devices: readonly Backend[], options: ProcessOptions = {}) {
    this.#open = open;
    this.#devices = devices;
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#link?.pid;
  }

  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  get waiting(): number {
    return [...this.#listeners.values()].filter((listener) => listener.waits()).length;
  }

  /**
   * Waits until the process runs.
   * @throws EngineError `unavailable` when it cannot be started, `closed`
   */
  async ready(): Promise<void> {
    if (this.#closed) throw closedError();
    this.#started ??= this.#start();
    return this.#started;
  }

  async attach(listener: StreamListener<In>): Promise<StreamHandle<Out>> {
    await this.ready();
    const link = this.#link;
    this.#streams += 1;
    const stream = this.#streams;
    this.#listeners.set(stream, listener);
    return {
      stream,
      send: (message) => link?.send(message),
      detach: () => this.#listeners.delete(stream),
    };
  }

  close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#closing ??= this.#link?.close() ?? Promise.resolve();
    return this.#closing;
  }

  /**
   * A process of its own for each device that is tried: a driver that fails may take its process along. On CUDA, a second
   * process is tried without CUDA graphs.
   */
  async #start(): Promise<void> {
    this.#starts += 1;
    let reason = '';
    for (const device of this.#devices) {
      const failure = await this.#startOn(device);
      if (failure === null) return;
      reason = failure;
      if (this.#closed) break;
      if (device !== 'cuda') continue;
      const second = await this.#startOn(device, 'batched');
      if (second === null) {
        const why = failure.replace(/^:? /, '').replace(adviceFor(device), '');
        return this.#lose('graphs_lost', why);
      }
      reason = second;
      if (this.#closed) break;
    }
    if (this.#closed) throw closedError();
    this.#failed();
    const message = `the ${this.#open.role} process could not be started${reason}`;
    this.#lose('unavailable', message);
    throw new EngineError('unavailable', message);
  }

  /** One that never ran is tried again by the next stream. Any other is by itself, and until then streams are refused. */
  #failed(): void {
    if (!this.#hasRun) {
      this.#started = null;
      return;
    }
    const delay = Math.min(RETRY_MS * 2 ** this.#failures, MAX_RETRY_MS);
    this.#failures += 1;
    this.#retry = setTimeout(() => this.#restart(), delay).unref();
  }

  #restart(): void {
    this.#started = null;
    this.ready().catch(() => {}); // listeners and the next caller receive the error
  }

  /** @returns why it could not be started */
  #startOn(device: Backend, together?: OpenMessage['together']): Promise<string | null> {
    return new Promise((resolve) => {
      let unavailable = '';
      let opened = false;
      const link = new ChildLink<In>({
        entry: this.#options.entry ?? ENTRY,
        env: {
          ...(this.#open.integers && this.#open.role === 'decode' && WHILE_PACKING),
          ...childEnvironment(process.env),
          ...environmentOf(device, this.#devices.length === 1),
        },
        stallMs: this.#options.stallMs?.(device),
        receive: (message) => {
          if (message.type === 'ready') {
            debug('%s process %d: ready', this.#open.role, link.pid);
            opened = true;
            this.device = message.device;
            this.#hasRun = true;
            this.#failures = 0;
            this.#options.onChange?.();
            resolve(null);
          } else if (message.type === 'servers') {
            this.servers = message.servers ?? [];
            this.#options.onChange?.();
          } else if (message.type === 'server_lost') this.#lose('server_lost', message.message ?? '');
          else if (message.progress) this.#options.onConversion?.(message.progress);
          else if (message.type === 'unavailable') unavailable = `: ${message.message}${adviceFor(device)}`;
          else if (message.stream !== undefined) this.#listeners.get(message.stream)?.receive(message);
        },
        ended: (end) => {
          debug('%s process %d: gone (%s)', this.#open.role, link.pid, end.reason);
          this.#link = null;
          this.device = undefined;
          this.#options.onChange?.();
          if (opened) this.#lost(end);
          else resolve(unavailable || (end.how === 'exited' ? ` (${end.reason})` : `: ${end.reason}`));
        },
      });
      this.#link = link;
      debug('%s process %d: started for %s', this.#open.role, link.pid, device);
      link.send({ ...this.#open, device, ...(together && { together }) });
    });
  }

  #lose(what: ProcessLoss['what'], reason: string): void {
    if (!this.#closed) this.#options.onLoss?.({ role: this.#open.role, what, reason });
  }

  #lost({ how, reason }: ChildEnd): void {
    const [code, happened] =
      how === 'stalled' ? (['stalled', 'was killed'] as const) : (['crashed', 'died'] as const);
    const message = `the ${this.#open.role} process ${happened} (${reason}); it is being restarted`;
    const error = this.#closed ? closedError() : new EngineError(code, message);
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) listener.fail(error);
    this.#lose(how === 'stalled' ? 'stalled' : 'died', reason);
    if (!this.#closed) this.#restart();
  }
}

const closedError = (): EngineError => new EngineError('closed', 'the engine is closed');
