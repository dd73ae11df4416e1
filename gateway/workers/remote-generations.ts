import type { Principal } from '../access/principal.js';
import type { Elsewhere, Resumed, ResumePoint } from '../generations/elsewhere.js';
import type { LiveGeneration, ReadGeneration, Sink } from '../generations/live-generation.js';
import type { LiveGenerations } from '../generations/live-generations.js';
import { lostError } from '../generations/lost.js';
import { RemoteGeneration, type RemoteOptions } from '../generations/remote-generation.js';
import type { Channel } from './channel.js';
import type { PrimarySide, ReaderAction, ReaderEvent, ReaderName } from './worker-messages.js';

type Primary = Channel<PrimarySide>;

/** Generations of other workers that connections of this one read. */
export class RemoteGenerations implements Elsewhere {
  readonly #primary: Primary;
  readonly #readers = new Map<number, WorkerGeneration>();
  #count = 0;

  constructor(primary: Primary) {
    this.#primary = primary;
  }

  async resume<Own extends Sink>(
    point: ResumePoint,
    { name: owner }: Pick<Principal, 'name'>,
    { sinkOf, over }: { readonly sinkOf: (generation: ReadGeneration) => Own; readonly over: () => void },
  ): Promise<Resumed<Own> | null> {
    this.#count += 1;
    const reader = this.#count;
    const generation = new WorkerGeneration(point, {
      act: (action) => this.#primary.tell('act', point.epoch, reader, action),
      over: () => {
        this.#readers.delete(reader);
        over();
      },
    });
    this.#readers.set(reader, generation);
    const model = await this.#primary.call('resume', point, owner, reader);
    if (model === null) {
      this.#readers.delete(reader);
      return null;
    }
    generation.model = model;
    const sink = sinkOf(generation);
    generation.sink = sink;
    return { generation, sink };
  }

  holds(owner: string): Promise<boolean> {
    return this.#primary.call('holds', owner);
  }

  forgetLost(owner: string, requestId: string): void {
    this.#primary.tell('forget', owner, requestId);
  }

  received(reader: number, event: ReaderEvent): void {
    this.#readers.get(reader)?.received(event);
  }

  /** The worker of this epoch is gone, with its generations. */
  gone(epoch: string): void {
    for (const generation of this.#readers.values())
      if (generation.epoch === epoch) generation.received({ type: 'lost', code: 'owner_lost' });
  }
}

class WorkerGeneration extends RemoteGeneration {
  readonly id: string;
  readonly epoch: string;
  model = '';
  readonly #act: (action: ReaderAction) => void;
  /** Events that came before its connection knew it. */
  #early: ReaderEvent[] | null = [];

  constructor(
    { id, epoch }: ResumePoint,
    options: RemoteOptions & { readonly act: (action: ReaderAction) => void },
  ) {
    super(options);
    this.id = id;
    this.epoch = epoch;
    this.#act = options.act;
  }

  received(event: ReaderEvent): void {
    if (this.#early) {
      this.#early.push(event);
    } else if (event.type === 'frame') {
      this.sink?.send(event.frame);
    } else {
      this.end();
      if (event.type === 'ended') this.sink?.ended();
      else this.sink?.lost(lostError(event.code));
    }
  }

  pause(): void {
    if (!this.over) this.#act('pause');
  }

  resume(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) this.received(event);
    if (!this.over) this.#act('resume');
  }
}

interface Relay {
  readonly worker: number;
  readonly generation: LiveGeneration;
  readonly sink: Sink;
}

/** Generations of this worker that connections of others read. */
export class RelayedGenerations {
  readonly #primary: Primary;
  readonly #live: LiveGenerations;
  readonly #relays = new Map<string, Relay>();

  constructor(primary: Primary, live: LiveGenerations) {
    this.#primary = primary;
    this.#live = live;
  }

  /** @returns its model; `null` if it cannot go on */
  resume(name: ReaderName, point: ResumePoint, owner: string): string | null {
    const generation = this.#live.find(point, { name: owner });
    const sink = this.#sinkFor(name);
    if (!generation?.attach(sink, point.offset)) return null;
    this.#relays.set(keyOf(name), { worker: name.worker, generation, sink });
    return generation.model;
  }

  act(name: ReaderName, action: ReaderAction): void {
    const relay = this.#relays.get(keyOf(name));
    if (!relay) return;
    const { generation, sink } = relay;
    if (action === 'pause' || action === 'resume') generation[action](sink);
    else if (action === 'cancel') generation.cancel();
    else this.#end(keyOf(name), action);
  }

  /** A worker that read some is gone, with its connections. */
  gone(worker: number): void {
    for (const [key, relay] of this.#relays) if (relay.worker === worker) this.#end(key, 'detach');
  }

  #end(key: string, action: 'detach' | 'discard'): void {
    const relay = this.#relays.get(key);
    this.#relays.delete(key);
    if (action === 'discard') relay?.generation.discard();
    else relay?.generation.detach(relay.sink);
  }

  #sinkFor(name: ReaderName): Sink {
    const tell = (event: ReaderEvent): void => this.#primary.tell('tellReader', name, event);
    const last = (event: ReaderEvent): void => {
      this.#relays.delete(keyOf(name));
      tell(event);
    };
    return {
      send: (frame) => tell({ type: 'frame', frame }),
      ended: () => last({ type: 'ended' }),
      // The generation had a frame: it was resumed.
      refused: () => last({ type: 'lost', code: 'owner_lost' }),
      lost: () => last({ type: 'lost', code: 'taken_over' }),
    };
  }
}

const keyOf = ({ worker, reader }: ReaderName): string => `${worker}/${reader}`;
