import type { ModelConfig } from '../../checkpoint/config.js';
import { Graph } from '../../onnx/graph.js';
import { stacked } from '../child/device-keys.js';
import { capacityFor, type KvCache, type Past } from '../kv-cache.js';
import { BoundSession, type BoundSessionOptions } from './bound-session.js';
import type { NativeTensor, OrtLibrary } from './ort-library.js';

type Shape = Pick<ModelConfig, 'layers' | 'kvHeads' | 'headDim'>;

/** Bytes that a store takes, unless one run has more sequences than that is for. */
const STORE_BYTES = 2 ** 30;

export interface StoreLimits {
  /** Positions of the smallest store: fewer sizes, fewer CUDA graphs. */
  readonly capacity: number;
  readonly slots: number;
}
const LIMITS: StoreLimits = { capacity: 512, slots: 64 };

/** Keys and values of sequences on the device, `[2 · layers, slots, capacity, kvHeads, headDim]`. */
export interface Store {
  readonly capacity: number;
  readonly slots: number;
  readonly tensor: NativeTensor;
  /** Slots with something that is not finite: even where it is masked, it would make a product NaN. */
  readonly spoilt: Set<number>;
}

interface Copy {
  readonly store: Store;
  readonly slot: number;
  length: number;
}

/** Where the sequences of a run are. */
export interface Placed {
  readonly store: Store;
  readonly slots: readonly number[];
}

/**
 * Copies of caches on a CUDA device, one store for each capacity, so that a run brings there only the positions that it has
 * not seen. The copies used longest ago give their slots to others. A sequence never moves to a smaller store, so those
 * that run together are soon in one.
 */
export class ResidentKeys {
  readonly #shape: Shape;
  readonly #limits: StoreLimits;
  readonly #library: OrtLibrary;
  readonly #append: BoundSession;
  readonly #zeros: BoundSession;
  readonly #stores = new Map<number, Store>();
  readonly #copies = new WeakMap<KvCache, Copy>();
  /** Copies in the order of use. */
  readonly #used = new Set<Copy>();
  readonly #ended = new FinalizationRegistry<Copy>((copy) => this.#used.delete(copy));

  constructor(library: OrtLibrary, shape: Shape, options: BoundSessionOptions, limits = LIMITS) {
    this.#library = library;
    this.#limits = limits;
    this.#shape = shape;
    this.#append = new BoundSession(library, appendGraph(shape), options);
    this.#zeros = new BoundSession(library, zerosGraph(), options);
  }

  /** Brings the first `count` positions of each cache to the device. Good for one run. */
  place(sequences: readonly Past[]): Placed {
    const known = sequences.map(({ cache }) => this.#copies.get(cache)?.store.capacity ?? 0);
    const longest = Math.max(...sequences.map(({ count }) => capacityFor(count)));
    const store = this.#storeOf(Math.max(this.#limits.capacity, longest, ...known), sequences.length);
    const copies: Copy[] = [];
    for (const { cache } of sequences) {
      const copy = this.#copies.get(cache);
      if (copy?.store === store && this.#used.has(copy)) this.#use(copy, copies);
    }
    const placed = sequences.map(({ cache, count }) => this.#placed(cache, count, store, copies));
    return { store, slots: placed.map(({ slot }) => slot) };
  }

  /** @param inUse copies of this run */
  #placed(cache: KvCache, count: number, store: Store, inUse: Copy[]): Copy {
    const known = this.#copies.get(cache);
    const held = known?.store === store && this.#used.has(known);
    const copy = held ? known : { store, slot: this.#freeSlot(store, inUse), length: 0 };
    if (!held) {
      if (known) this.#used.delete(known);
      this.#copies.set(cache, copy);
      this.#ended.register(cache, copy);
      this.#use(copy, inUse);
    }
    const kept = Math.min(copy.length, cache.intact, count);
    if (kept < count) this.#bring(cache, kept, count, copy);
    copy.length = count;
    cache.intact = count;
    return copy;
  }

  #use(copy: Copy, inUse: Copy[]): void {
    this.#used.delete(copy);
    this.#used.add(copy);
    inUse.push(copy);
  }

  #freeSlot(store: Store, inUse: readonly Copy[]): number {
    const copies = [...this.#used].filter((copy) => copy.store === store);
    const taken = new Set(copies.map(({ slot }) => slot));
    let free = Array.from({ length: store.slots }, (_, slot) => slot).find((slot) => !taken.has(slot));
    if (free === undefined) {
      const oldest = copies.find((copy) => !inUse.includes(copy))!;
      this.#used.delete(oldest);
      free = oldest.slot;
    }
    if (store.spoilt.has(free)) this.#clear(store, free);
    return free;
  }

  #storeOf(capacity: number, sequences: number): Store {
    const known = this.#stores.get(capacity);
    if (known && known.slots >= sequences) return known;
    const { layers, kvHeads, headDim } = this.#shape;
    const bytes = 2 * layers * capacity * kvHeads * headDim * Float32Array.BYTES_PER_ELEMENT;
    const fitting = Math.min(this.#limits.slots, Math.floor(STORE_BYTES / bytes));
    const slots = Math.max(fitting, sequences);
    if (known) {
      for (const copy of this.#used) if (copy.store === known) this.#used.delete(copy);
      this.#library.release(known.tensor);
    }
    const dims = [2 * layers, slots, capacity, kvHeads, headDim];
    const tensor = this.#append.allocate('float32', dims);
    this.#run(this.#zeros, { shape: this.#library.tensor(BigInt64Array.from(dims, BigInt), [5]) }, tensor);
    const store = { capacity, slots, tensor, spoilt: new Set<number>() };
    this.#stores.set(capacity, store);
    return store;
  }

  /** Copies positions `from` to `to` of a cache into its slot. */
  #bring(cache: KvCache, from: number, to: number, { store, slot }: Copy): void {
    const { data, dims } = stacked(cache.tensors(from, to - from));
    this.#write(store, slot, from, data as Float32Array, dims);
    if (!areFinite(data as Float32Array)) store.spoilt.add(slot);
  }

  #clear(store: Store, slot: number): void {
    const { layers, kvHeads, headDim } = this.#shape;
    const dims = [2 * layers, store.capacity, kvHeads, headDim];
    this.#write(store, slot, 0, new Float32Array(dims.reduce((a, b) => a * b)), dims);
    store.spoilt.delete(slot);
  }

  /** @param data positions from `from` on, `[2 · layers, positions, kvHeads, headDim]` */
  #write(store: Store, slot: number, from: number, data: Float32Array, dims: readonly number[]): void {
    const [parts, positions] = [dims[0]!, dims[1]!];
    const places = new BigInt64Array(parts * positions * 3);
    let at = 0;
    for (let part = 0; part < parts; part += 1) {
      for (let position = from; position < from + positions; position += 1) {
        places[at] = BigInt(part);
        places[at + 1] = BigInt(slot);
        places[at + 2] = BigInt(position);
        at += 3;
      }
    }
    const more = this.#library.tensor(data, dims);
    const where = this.#library.tensor(places, [parts, positions, 3]);
    this.#run(this.#append, { more, places: where }, store.tensor);
  }

  /** Runs a session of which one input, if it has it, and the output are the store. */
  #run(session: BoundSession, given: Readonly<Record<string, NativeTensor>>, store: NativeTensor): void {
    const binding = session.bind(
      { ...given, ...(session === this.#append && { store }) },
      { store_out: store },
    );
    try {
      binding.run();
    } finally {
      binding.release();
      for (const tensor of Object.values(given)) this.#library.release(tensor);
    }
  }
}

/** Whether all numbers are finite. */
function areFinite(data: Float32Array): boolean {
  let nothing = 0;
  for (const number of data) nothing += number * 0;
  return nothing === 0;
}

function zerosGraph(): Graph {
  const g = new Graph();
  const shape = g.input('shape', 'int64', [5]);
  const dims = ['parts', 'slots', 'capacity', 'kvHeads', 'headDim'];
  const [zeros] = g.node('Expand', [g.scalar(0), shape], {}, [{ type: 'float32', shape: dims }]);
  g.output('store_out', zeros!);
  return g;
}

/** Writes keys and values into the store, in place: input and output are bound to the same memory. */
function appendGraph({ layers, kvHeads, headDim }: Shape): Graph {
  const g = new Graph();
  const store = g.input('store', 'float32', [2 * layers, 'slots', 'capacity', kvHeads, headDim]);
  const more = g.input('more', 'float32', [2 * layers, 'more', kvHeads, headDim]);
  const places = g.input('places', 'int64', [2 * layers, 'more', 3]);
  g.output('store_out', g.op('ScatterND', [store, places, more]));
  return g;
}
