import type { EngineErrorCode } from '../../src/engine/engine-errors.js';
import type { FromDecode, FromScore, Role, ToDecode, ToScore } from '../../src/engine/engine-messages.js';
import type { ProcessStatus } from '../../src/engine/engine-process.js';
import type { MemoryNeed } from '../../src/engine/memory.js';
import type { Ticket } from '../access/tickets.js';
import type { Config } from '../config/gateway-config.js';
import type { Reloading } from '../gateway.js';
import type { ResumePoint } from '../generations/elsewhere.js';
import type { LostCode } from '../generations/lost.js';
import type { WorkersHealth } from '../http/app.js';
import type { MetricsSnapshot } from '../metrics/metric-families.js';

/** One process of a model's engine. */
export interface ProcessName {
  readonly model: string;
  readonly role: Role;
}

export type EngineState = Readonly<
  Record<Role, Pick<ProcessStatus, 'pid' | 'device' | 'restarts' | 'servers'>>
>;

export interface OpenWorker {
  readonly id: number;
  readonly config: Config;
  /** Parts of the configuration as they were last reloaded. */
  readonly reloaded: Reloading;
  /** States of the models that have an engine. */
  readonly engines: Readonly<Record<string, EngineState>>;
}

export interface OpenedWorker {
  readonly url: string;
  /** Epoch of its generations. */
  readonly epoch: string;
}

/** A connection's side of a generation of another worker: the worker that has the connection, and its number there. */
export interface ReaderName {
  readonly worker: number;
  readonly reader: number;
}

export type ReaderEvent =
  | { readonly type: 'frame'; readonly frame: string }
  | { readonly type: 'ended' }
  | { readonly type: 'lost'; readonly code: LostCode };

export type ReaderAction = 'pause' | 'resume' | 'detach' | 'cancel' | 'discard';

/** Methods of the primary process that workers call. */
export interface PrimarySide {
  /** Says that the worker listens to messages: those that come before are lost. */
  listening(): void;

  countRequest(client: string, perMinute: number, units?: number): Promise<number | null>;
  /** @returns the number of the place, to be given back by `release` */
  take(pool: string, most: number): number | null;
  /** The same of places that clients share. */
  share(pool: string, most: number, client: string): Promise<number | null>;
  release(slot: number): void;
  issueTicket(owner: string): Ticket;
  redeemTicket(ticket: string): string | null;

  /**
   * Opens a stream in an engine's process; the worker names it by a number of its own.
   * @returns its number in that process
   * @throws EngineError
   */
  attach(process: ProcessName, stream: number): Promise<number>;
  detach(stream: number): void;
  engine(stream: number, message: ToDecode | ToScore): void;
  /**
   * @returns the number of the place, to be given back by `release`
   * @throws EngineError `memory`, `overloaded`
   */
  admit(process: ProcessName, need: MemoryNeed, positions: number): Promise<number>;

  collect(): Promise<readonly MetricsSnapshot[]>;
  health(): Promise<WorkersHealth>;

  /** @returns the model of the generation; `null` if it cannot go on */
  resume(point: ResumePoint, owner: string, reader: number): Promise<string | null>;
  act(epoch: string, reader: number, action: ReaderAction): void;
  tellReader(name: ReaderName, event: ReaderEvent): void;
  holds(owner: string): Promise<boolean>;
  forget(owner: string, requestId: string): void;
}

/** Methods of a worker that the primary process calls. */
export interface WorkerSide {
  open(options: OpenWorker): Promise<OpenedWorker>;
  reload(changed: Reloading): void;
  drain(): Promise<void>;
  close(): void;

  /** A message for a stream of an engine's process, the end of its process, and another state of an engine. */
  received(stream: number, message: FromDecode | FromScore): void;
  lost(stream: number, code: EngineErrorCode, message: string): void;
  changed(model: string, state: EngineState): void;

  snapshot(): Promise<MetricsSnapshot>;
  streams(): Readonly<Record<string, number>>;

  resumeFor(name: ReaderName, point: ResumePoint, owner: string): string | null;
  actFor(name: ReaderName, action: ReaderAction): void;
  /** @param epoch epoch of its generations, if it had begun to serve */
  workerGone(name: number, epoch: string | null): void;
  readerEvent(reader: number, event: ReaderEvent): void;
  holdsOwn(owner: string): boolean;
  forgetOwn(owner: string, requestId: string): void;
}
