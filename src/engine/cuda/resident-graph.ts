import type { ModelConfig } from '../../checkpoint/config.js';
import { Graph } from '../../onnx/graph.js';
import type { Value } from '../../onnx/onnx-types.js';
import {
  type BatchSizes,
  batchFeeds,
  givenOf,
  longestOf,
  sequenceNames,
  takenApart,
} from '../child/batched-run.js';
import { sizesIn } from '../child/joined-outputs.js';
import type { SequenceRunner } from '../child/sequence-run.js';
import { type Feeds, floats, longs, type OpenedGraph } from '../ort-session.js';
import { BoundSession, type BoundSessionOptions, type NativeTensors } from './bound-session.js';
import type { Elements, NativeTensor, OrtLibrary } from './ort-library.js';
import type { Placed, ResidentKeys, Store } from './resident-keys.js';

/** Longer windows are worth their launches: such a run is not recorded, and not filled up. */
const LONGEST_RECORDED = 64;

/** An input or output of a run, in main memory and on the device. */
interface Place {
  readonly name: string;
  readonly host: NativeTensor;
  readonly dims: readonly number[];
  readonly device: NativeTensor;
}

/** Memory for runs of one shape. */
interface Frame {
  readonly inputs: readonly Place[];
  readonly outputs: readonly Place[];
  run(): void;
  release(): void;
}

/**
 * A graph for any number of sequences whose keys and values stay on the device. Short windows are filled up to a few shapes,
 * each of which has its tensors at fixed addresses: on CUDA its kernels are recorded once and launched together from then on.
 */
export class ResidentGraph {
  readonly #library: OrtLibrary;
  readonly #keys: ResidentKeys;
  readonly #config: ModelConfig;
  readonly #main: BoundSession;
  /** Copies inputs to the device, and outputs from it. */
  readonly #load: BoundSession;
  readonly #unload: BoundSession;
  readonly #inputs: readonly Value[];
  #graphs = 0;
  readonly #frames = new Map<string, { readonly frame: Frame; readonly store: Store }>();

  /** @param graph one that was built for `resident` sequences */
  constructor(
    { library, keys }: { readonly library: OrtLibrary; readonly keys: ResidentKeys },
    graph: Graph,
    config: ModelConfig,
    options: BoundSessionOptions,
  ) {
    this.#library = library;
    this.#keys = keys;
    this.#config = config;
    this.#main = new BoundSession(library, graph, options);
    this.#inputs = graph.inputs.filter(({ name }) => name !== 'store');
    this.#load = new BoundSession(library, copies(this.#inputs), options);
    const outputs = graph.outputs.map(({ name, value }) => ({ ...value, name }));
    this.#unload = new BoundSession(library, copies(outputs), options);
  }

  /** The same for so many sequences, as one that was built for them. */
  of(sequences: number): OpenedGraph & SequenceRunner {
    const inputNames = this.#main.inputs.map(({ name }) => name);
    const outputNames = this.#main.outputs.map(({ name }) => name);
    const { windows, ...names } = sequenceNames({ inputNames, outputNames }, sequences, this.#config);
    let placed: Placed | null = null;
    return {
      ...names,
      endProfiling: () => undefined,
      past: async (pasts) => {
        placed = this.#keys.place(pasts);
        return pasts.map(() => []);
      },
      run: async (feeds, fetches) => {
        if (!placed) throw new Error('the keys of the run were not brought to the device');
        const { store, slots: known } = placed;
        placed = null; // the next run brings its own
        const given = givenOf(feeds, sequences);
        const longest = { ...longestOf(given), past: store.capacity };
        const recorded = longest.window <= LONGEST_RECORDED;
        const sizes = recorded ? filledUp(longest) : longest;
        const slots = Array.from({ length: sizes.batch }, (_, t) => known[t] ?? 0);
        const batched = { ...batchFeeds(feeds, given, sizes), slots: longs(slots, [sizes.batch]) };
        const { rows } = feeds;
        const scored = rows!.dims[0]!;
        const outputs = this.#run(batched, store, { recorded, scored });
        const { window } = outputs;
        const wanted = Object.entries(outputs).filter(([name]) => name in fetches);
        const parts = window ? takenApart(window.data as Float32Array, given, sizes, this.#config) : {};
        const wantedParts = windows.filter((name) => name in fetches).map((name) => [name, parts[name]!]);
        return Object.fromEntries([...wanted, ...wantedParts]);
      },
    };
  }

  #run(
    feeds: Feeds,
    store: Store,
    { recorded, scored }: { readonly recorded: boolean; readonly scored: number },
  ): Feeds {
    const known = new Map(sizesIn(feeds, this.#inputs));
    known.set('scored', recorded ? powerOfTwo(scored) : scored);
    const frame = recorded ? this.#recorded(known, store) : this.#frame(known, store);
    try {
      for (const { name, host } of frame.inputs) fill(host.data!, feeds[name]!.data as Elements);
      frame.run();
      return Object.fromEntries(
        frame.outputs.map(({ name, host, dims }) => [
          name,
          cut(host.data!, dims, known.get('scored')!, scored),
        ]),
      );
    } finally {
      if (!recorded) frame.release();
    }
  }

  /** The frame of a shape, which is kept. */
  #recorded(sizes: ReadonlyMap<string, number>, store: Store): Frame {
    const key = [...sizes].join();
    const known = this.#frames.get(key);
    if (known?.store === store) return known.frame;
    known?.frame.release();
    this.#graphs += 1;
    const frame = this.#frame(sizes, store, this.#graphs);
    this.#frames.set(key, { frame, store });
    return frame;
  }

  /** @param capture number of the CUDA graph as which it is recorded, if it is */
  #frame(sizes: ReadonlyMap<string, number>, store: Store, capture?: number): Frame {
    const place = ({ name, type, shape }: Value): Place => {
      const dims = shape.map((dim) => (typeof dim === 'number' ? dim : sizes.get(dim)!));
      const size = dims.reduce((product, dim) => product * dim, 1);
      const data = type === 'int64' ? new BigInt64Array(size) : new Float32Array(size);
      return { name, dims, host: this.#library.tensor(data, dims), device: this.#main.allocate(type, dims) };
    };
    const inputs = this.#inputs.map(place);
    const outputs = this.#main.outputs.map(({ name, value }) => place({ ...value, name }));
    const main = this.#main.bind({ ...each(inputs, 'device'), store: store.tensor }, each(outputs, 'device'));
    const unload = this.#unload.bind(each(outputs, 'device'), each(outputs, 'host', COPY));
    return {
      inputs,
      outputs,
      run: () => {
        // Inputs in main memory cross to the device when they are bound, not when the session runs.
        const load = this.#load.bind(each(inputs, 'host'), each(inputs, 'device', COPY));
        try {
          load.run();
        } finally {
          load.release();
        }
        main.run(capture);
        unload.run();
      },
      release: () => {
        main.release();
        unload.release();
        for (const { host, device } of [...inputs, ...outputs]) {
          this.#library.release(host);
          this.#library.release(device);
        }
      },
    };
  }
}

const COPY = '.copy';

/** A graph that puts out what it is given. */
function copies(values: readonly Value[]): Graph {
  const g = new Graph();
  for (const { name, type, shape } of values)
    g.output(`${name}${COPY}`, g.op('Identity', [g.input(name, type, shape)]));
  return g;
}

const each = (places: readonly Place[], side: 'host' | 'device', suffix = ''): NativeTensors =>
  Object.fromEntries(places.map((place) => [`${place.name}${suffix}`, place[side]]));

const powerOfTwo = (least: number): number => 2 ** Math.ceil(Math.log2(least));

const filledUp = ({ batch, window, past }: BatchSizes): BatchSizes => ({
  batch: powerOfTwo(batch),
  window: powerOfTwo(window),
  past,
});

/** What follows the elements that there are is zero: row 0, token 0, not attacked. */
function fill(to: Elements, from: Elements): void {
  if (to instanceof Float32Array) to.fill(0, from.length).set(from as Float32Array);
  else to.fill(0n, from.length).set(from as BigInt64Array);
}

/** A copy of an output, without the rows that were filled up. */
function cut(data: Elements, dims: readonly number[], filled: number, scored: number): Feeds[string] {
  const isScored = dims[0] === filled && dims.length <= 2;
  const kept = isScored ? dims.with(0, scored) : dims;
  const part = data.slice(
    0,
    kept.reduce((product, dim) => product * dim, 1),
  );
  return part instanceof Float32Array ? floats(part, kept) : longs(Array.from(part, Number), kept);
}
