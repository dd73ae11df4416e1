import type { Engine } from '../../src/engine/engine.js';
import type { ToDecode, ToScore } from '../../src/engine/engine-messages.js';
import type { StreamHandle } from '../../src/engine/engine-process.js';
import type { EngineHost } from '../../src/engine/host.js';
import type { Tickets } from '../access/tickets.js';
import type { OwnUsage, Release } from '../access/usage.js';
import type { Channel } from './channel.js';
import type { PrimarySide, ProcessName, WorkerSide } from './worker-messages.js';

/** Resources that all workers share. */
export interface Shared {
  readonly usage: OwnUsage;
  readonly tickets: Tickets;
  /** Engines by model. */
  readonly engines: ReadonlyMap<string, Engine>;
}

interface Stream {
  readonly role: ProcessName['role'];
  readonly handle: StreamHandle<ToDecode | ToScore>;
}

/** Methods of the primary process that give a worker the shared resources. */
export type AttendantSide = Pick<
  PrimarySide,
  | 'countRequest'
  | 'take'
  | 'share'
  | 'release'
  | 'issueTicket'
  | 'redeemTicket'
  | 'attach'
  | 'detach'
  | 'engine'
  | 'admit'
>;

/** One worker's part of the shared resources. */
export class Attendant {
  readonly #shared: Shared;
  readonly #worker: () => Channel<WorkerSide>;
  readonly #slots = new Map<number, Release>();
  readonly #streams = new Map<number, Stream>();
  #count = 0;
  #gone = false;

  constructor(shared: Shared, worker: () => Channel<WorkerSide>) {
    this.#shared = shared;
    this.#worker = worker;
  }

  get side(): AttendantSide {
    const { usage, tickets } = this.#shared;
    return {
      countRequest: (client, perMinute, units) => usage.request(client, perMinute, units),
      take: (pool, most) => {
        const release = usage.take(pool, most);
        return release && this.#keep(release);
      },
      share: async (pool, most, client) => {
        const release = await usage.share(pool, most, client);
        return release && this.#keep(release);
      },
      release: (slot) => this.#release(slot),
      issueTicket: (owner) => tickets.issue(owner),
      redeemTicket: (ticket) => tickets.redeem(ticket),
      attach: (process, stream) => this.#attach(process, stream),
      detach: (stream) => this.#detach(stream),
      engine: (stream, message) => this.#streams.get(stream)?.handle.send(message),
      admit: async ({ model, role }, need, positions) =>
        this.#keep(await this.#hostOf(model).admit(role, need, positions)),
    };
  }

  /** The worker is gone: ends its work in the engines, and gives back its places. */
  gone(): void {
    this.#gone = true;
    for (const stream of [...this.#streams.keys()]) this.#end(stream);
    for (const slot of [...this.#slots.keys()]) this.#release(slot);
  }

  async #attach({ model, role }: ProcessName, stream: number): Promise<number> {
    const process: EngineHost['decode' | 'score'] = this.#hostOf(model)[role];
    const handle: StreamHandle<ToDecode | ToScore> = await process.attach({
      receive: (message) => this.#worker().tell('received', stream, message),
      waits: () => false, // the worker knows
      fail: ({ code, message }) => {
        this.#streams.delete(stream);
        this.#worker().tell('lost', stream, code, message);
      },
    });
    this.#streams.set(stream, { role, handle });
    if (this.#gone) this.#end(stream);
    return handle.stream;
  }

  #detach(stream: number): void {
    this.#streams.get(stream)?.handle.detach();
    this.#streams.delete(stream);
  }

  #end(stream: number): void {
    const { role, handle } = this.#streams.get(stream)!;
    handle.send({ type: role === 'decode' ? 'cancel' : 'release', stream: handle.stream });
    this.#detach(stream);
  }

  #keep(release: Release): number {
    this.#count += 1;
    this.#slots.set(this.#count, release);
    if (this.#gone) this.#release(this.#count);
    return this.#count;
  }

  #release(slot: number): void {
    this.#slots.get(slot)?.();
    this.#slots.delete(slot);
  }

  #hostOf(model: string): EngineHost {
    const engine = this.#shared.engines.get(model);
    if (!engine) throw new RangeError(`${model} has no engine`);
    return engine.host;
  }
}
