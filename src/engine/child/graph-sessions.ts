import { buildBackwardGraph } from '../../graphs/backward-graph.js';
import type { ModelSource } from '../../graphs/decoder.js';
import { buildForwardGraph, type ForwardGraphOptions } from '../../graphs/forward-graph.js';
import { buildScoreGraph, type ScoreGraphOptions } from '../../graphs/score-graph.js';
import { buildSequenceGraph } from '../../graphs/sequence-graph.js';
import { buildTangentGraph, type TangentGraphOptions } from '../../graphs/tangent-graph.js';
import { buildTokurGraph, type TokurGraphOptions } from '../../graphs/tokur-graph.js';
import type { Graph } from '../../onnx/graph.js';
import { ResidentGraphs } from '../cuda/resident-graphs.js';
import { debug } from '../debug.js';
import type { Device } from '../device.js';
import { type GraphRunner, type OpenedGraph, openSession, type SessionOptions } from '../ort-session.js';
import { batchedGraph } from './batched-run.js';
import { DeviceKeys } from './device-keys.js';
import { DeviceWeights } from './device-weights.js';
import { joinOutputs, separateOutputs } from './joined-outputs.js';
import { TokurBases } from './low-rank-basis.js';
import { paddedFeeds } from './padded-feeds.js';
import type { SequenceRunner } from './sequence-run.js';
import { SplitPass } from './split-pass.js';

/** Of a graph of rounded products, where the process has the weights for them: {@link GraphRunners.rounds}. */
interface Rounding {
  readonly rounded?: boolean;
}

export type GraphSpec =
  | ({ readonly kind: 'forward' } & ForwardGraphOptions & Rounding)
  | ({ readonly kind: 'score' } & ScoreGraphOptions & Rounding)
  | ({ readonly kind: 'backward' } & Rounding)
  | ({ readonly kind: 'tangent' } & TangentGraphOptions & Rounding)
  | { readonly kind: 'sequence' }
  | ({ readonly kind: 'tokur' } & Omit<TokurGraphOptions, 'directions'>);

export type PlainSpec = Exclude<GraphSpec, { readonly kind: 'tokur' }>;

/** Runs graphs for a worker: sessions of this process, or an inference server. */
export interface GraphRunners {
  /** See {@link Sessions.batchSize}. */
  batchSize(waiting: number, limit?: number): number;
  /** @throws Error for a graph that there is not */
  get(spec: GraphSpec): Promise<GraphRunner>;
  /** Whether derivatives are of rounded products. */
  readonly rounds: boolean;
  /** Whether the sequences of a run are filled up to the longest: one graph then serves any number of them. */
  readonly fillsUp: boolean;
  /** Graphs that compute the inputs of `tokur` graphs; `null` if there are none. */
  readonly tokurBases: TokurBases | null;
}

/** How the sequences of a run go through a graph: see {@link Sessions}. */
export const TOGETHER = ['apart', 'batched', 'resident'] as const;

/** The numbers of sequences that graphs are built for: a batch of another size is cut to the next smaller one. */
const BATCH_SIZES = [16, 8, 4, 2, 1];
/** The same where each graph has a packed copy of the weights. */
const PACKED_SIZES = [4, 1];
const MAX_PASSES = 4;
/** WebGPU promises a shader no more than eight buffers to take sequences apart and join them. */
const LARGEST_BATCH: Readonly<Record<Device, number>> = { cpu: 16, webgpu: 4, cuda: 64 };

interface Shared {
  readonly weights: DeviceWeights;
  readonly keys: DeviceKeys;
}

/** The sessions of a process, opened on first use and kept: opening and releasing them again leaks. */
export class Sessions implements GraphRunners {
  readonly #source: ModelSource;
  readonly #options: SessionOptions;
  readonly #opened = new Map<string, Promise<OpenedGraph>>();
  /** Data that graphs share if they do not read it in place; `null` otherwise. */
  readonly #device: Shared | null;
  /** Passes of one sequence and of more, of a model whose weights are in integers, on a CPU. */
  readonly #passes: { readonly one: SplitPass; readonly more: SplitPass } | null;
  readonly rounds: boolean;
  /** Graphs that compute the inputs of `tokur` graphs. */
  readonly tokurBases: TokurBases;
  readonly fillsUp: boolean;
  readonly #rounded: ModelSource;
  readonly #resident: () => Promise<ResidentGraphs | null>;

  /**
   * @param options.together `batched`: rows are filled up to batches; `resident`: also, keys and values stay on the device,
   *   which needs `koffi`; by default `resident` on CUDA, and `apart` elsewhere
   */
  constructor(
    { rounded, ...source }: ModelSource,
    options: SessionOptions & { readonly together?: (typeof TOGETHER)[number] },
  ) {
    const { device = 'cpu', packed = false, threads } = options;
    const { together = device === 'cuda' ? 'resident' : 'apart' } = options;
    this.fillsUp = together !== 'apart';
    this.#resident = once(async () =>
      together === 'resident' && device !== 'webgpu'
        ? ResidentGraphs.open(source.config, { threads, device })
        : null,
    );
    this.rounds = rounded !== undefined;
    this.#source = device === 'cpu' ? source : { ...source, gpu: device };
    this.#rounded = { ...this.#source, ...(rounded && { rounded }) };
    this.#options = options;
    this.#device =
      options.device === 'webgpu'
        ? { weights: new DeviceWeights(options), keys: new DeviceKeys(source.config, options) }
        : null;
    const integers = [...source.tensors.values()].some(({ type }) => type === 'packed');
    this.#passes =
      integers && !packed && device === 'cpu'
        ? { one: new SplitPass(source, options, 1), more: new SplitPass(source, options, MAX_PASSES) }
        : null;
    this.tokurBases = new TokurBases(source, { threads: options.threads });
  }

  /**
   * The largest number of sequences, of those that wait, that go through in one run.
   * @param limit where each number has a graph of its own
   */
  batchSize(waiting: number, limit = Number.POSITIVE_INFINITY): number {
    const { device = 'cpu', packed } = this.#options;
    if (this.fillsUp) return Math.min(waiting, LARGEST_BATCH[device]);
    const most = Math.min(waiting, limit, LARGEST_BATCH[device]);
    if (this.#passes || this.rounds) return Math.min(most, MAX_PASSES);
    return (packed ? PACKED_SIZES : BATCH_SIZES).find((size) => size <= most) ?? 1;
  }

  get(spec: GraphSpec): Promise<OpenedGraph> {
    const key = JSON.stringify(spec);
    const known = this.#opened.get(key);
    if (known) return known;
    const session = this.#open(spec);
    this.#opened.set(key, session);
    session.catch(() => this.#opened.delete(key));
    return session;
  }

  async #open(spec: GraphSpec): Promise<OpenedGraph> {
    const start = performance.now();
    const session = await (this.#device ? this.#openOnDevice(spec, this.#device) : this.#openHere(spec));
    debug('session %j: opened in %d ms', spec, Math.round(performance.now() - start));
    return session;
  }

  async #openHere(spec: GraphSpec): Promise<OpenedGraph> {
    if (this.fillsUp && inBatches(spec) && typeof spec.sequences === 'number') {
      const resident = await this.#resident();
      if (resident) {
        const any: PlainSpec = { ...spec, sequences: 'resident' };
        return resident.get(JSON.stringify(any), () => this.#build(any)).of(spec.sequences);
      }
      const session = await this.get({ ...spec, sequences: 'any' });
      return batchedGraph(session, spec.sequences, this.#source.config);
    }
    if (this.rounds && !this.fillsUp && isRounded(spec)) return this.#openRounded(spec);
    if (this.#passes && inParts(spec)) {
      const { one, more } = this.#passes;
      return (spec.sequences === 1 ? one : more).open(spec.kind === 'score', spec.top);
    }
    return openSession(this.#build(spec), this.#options);
  }

  /** Of several sequences there is one graph. */
  async #openRounded(spec: RoundedSpec): Promise<OpenedGraph> {
    const { config } = this.#rounded;
    if (!('sequences' in spec) || spec.sequences === 1) return openSession(this.#build(spec), this.#options);
    const sequences = MAX_PASSES;
    if (spec.sequences !== sequences) return this.get({ ...spec, sequences });
    const session = await openSession(this.#build(spec), this.#options);
    const { inputNames, outputNames } = session;
    return {
      inputNames,
      outputNames,
      run: (feeds, fetches) => session.run(paddedFeeds(feeds, sequences, config), fetches),
      endProfiling: () => session.endProfiling(),
    };
  }

  /**
   * Opens a graph on the device. Keys and values are always read in place there: copies of them are brought
   * to it.
   */
  async #openOnDevice(spec: GraphSpec, { weights, keys }: Shared): Promise<OpenedGraph & SequenceRunner> {
    const graph = this.#build(spec.kind === 'forward' ? { ...spec, apart: true } : spec);
    const parts = joinOutputs(graph);
    const session = separateOutputs(await weights.open(graph), graph.inputs, parts);
    return { ...session, past: (sequences) => keys.past(sequences) };
  }

  #build(spec: GraphSpec): Graph {
    if (spec.kind !== 'tokur') return buildGraph(isRounded(spec) ? this.#rounded : this.#source, spec);
    const directions = this.tokurBases.layers;
    if (!directions) throw new Error('the bases of TokUR are not found yet');
    return buildTokurGraph(this.#source, { ...spec, directions });
  }
}

/** Calls a function at the first time. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Whether a graph can be one of any number of sequences. */
const inBatches = (spec: GraphSpec): spec is Extract<GraphSpec, { readonly kind: 'score' | 'forward' }> =>
  spec.kind === 'score' || spec.kind === 'forward';

/** Whether {@link SplitPass} runs a graph. */
const inParts = (spec: GraphSpec): spec is Extract<GraphSpec, { readonly kind: 'score' | 'forward' }> =>
  spec.kind === 'score'
    ? spec.form === 'perturb'
    : spec.kind === 'forward' && spec.result === 'statistics' && !spec.noise;

type RoundedSpec = Extract<PlainSpec, Rounding>;

const isRounded = (spec: GraphSpec): spec is RoundedSpec => 'rounded' in spec && spec.rounded === true;

/** A graph that the weights alone determine. */
export function buildGraph(source: ModelSource, spec: PlainSpec): Graph {
  switch (spec.kind) {
    case 'forward':
      return buildForwardGraph(source, spec);
    case 'score':
      return buildScoreGraph(source, spec);
    case 'backward':
      return buildBackwardGraph(source);
    case 'tangent':
      return buildTangentGraph(source, spec);
    case 'sequence':
      return buildSequenceGraph(source);
  }
}
