import type { ModelSource } from '../../model/decoder.js';
import { buildForwardGraph, type ForwardGraphOptions } from '../../model/forward-graph.js';
import { buildScoreGraph, type ScoreGraphOptions } from '../../model/score-graph.js';
import { buildTangentGraph } from '../../model/tangent-graph.js';
import type { Device } from '../device.js';
import { openSession, type Session, type SessionOptions } from '../session.js';

/** A graph by its options. */
export type GraphSpec =
  | ({ readonly kind: 'forward' } & Omit<ForwardGraphOptions, 'fused'>)
  | ({ readonly kind: 'score' } & Omit<ScoreGraphOptions, 'fused'>)
  | { readonly kind: 'tangent' };

/** The numbers of texts that graphs are built for: a batch of another size is cut to the next smaller one. */
const BATCH_SIZES = [16, 8, 4, 2, 1];

/**
 * A run takes the texts apart and puts them together again, in a shader with a buffer for each and one for the whole:
 * WebGPU promises eight.
 */
const MAX_WEBGPU_TEXTS = 7;

/** The sessions of a process, opened on first use and kept: opening and releasing them again leaks. */
export class Sessions {
  readonly #source: ModelSource;
  readonly #options: SessionOptions;
  readonly #opened = new Map<string, Promise<Session>>();

  constructor(source: ModelSource, options: SessionOptions) {
    this.#source = source;
    this.#options = options;
  }

  /** The largest number of texts, of those that wait, that go through in one run. */
  batchSize(waiting: number, limit = Number.POSITIVE_INFINITY): number {
    const most = Math.min(waiting, limit, this.#options.device === 'webgpu' ? MAX_WEBGPU_TEXTS : waiting);
    return BATCH_SIZES.find((size) => size <= most) ?? 1;
  }

  get(spec: GraphSpec): Promise<Session> {
    const key = JSON.stringify(spec);
    const known = this.#opened.get(key);
    if (known) return known;
    const session = openSession(build(this.#source, spec, this.#options.device), this.#options);
    this.#opened.set(key, session);
    return session;
  }
}

/**
 * The fused attention is the CPU's alone: CUDA has it in half precision only, and on WebGPU (onnxruntime 1.30.0) it gave
 * wrong results for heads of 8.
 */
function build(source: ModelSource, spec: GraphSpec, device: Device = 'cpu') {
  if (spec.kind === 'tangent') return buildTangentGraph(source);
  const options = { ...spec, fused: device === 'cpu' };
  return options.kind === 'forward' ? buildForwardGraph(source, options) : buildScoreGraph(source, options);
}
