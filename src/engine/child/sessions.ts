import type { ModelSource } from '../../model/decoder.js';
import { buildForwardGraph, type ForwardGraphOptions } from '../../model/forward-graph.js';
import { buildScoreGraph, type ScoreGraphOptions } from '../../model/score-graph.js';
import { buildTangentGraph } from '../../model/tangent-graph.js';
import { buildTokurGraph, type TokurGraphOptions } from '../../model/tokur-graph.js';
import type { Graph } from '../../onnx/graph.js';
import { type LayerBasis, tokurBases } from '../low-rank-basis.js';
import { openSession, type Session, type SessionOptions } from '../session.js';

/** A graph by its options. */
export type GraphSpec =
  | ({ readonly kind: 'forward' } & Omit<ForwardGraphOptions, 'fused'>)
  | ({ readonly kind: 'score' } & Omit<ScoreGraphOptions, 'fused'>)
  | { readonly kind: 'tangent' }
  | ({ readonly kind: 'tokur' } & Omit<TokurGraphOptions, 'fused' | 'directions'>);

/** The numbers of texts that graphs are built for: a batch of another size is cut to the next smaller one. */
const BATCH_SIZES = [16, 8, 4, 2, 1];

/** The largest number of texts, of those that wait, that go through in one run. */
export function batchSize(waiting: number, limit = 16): number {
  return BATCH_SIZES.find((size) => size <= Math.min(waiting, limit)) ?? 1;
}

/** The sessions of a process, opened on first use and kept: opening and releasing them again leaks. */
export class Sessions {
  readonly #source: ModelSource;
  readonly #options: SessionOptions;
  readonly #opened = new Map<string, Promise<Session>>();
  /** Found once: it takes seconds for a model of 10⁸ parameters. */
  #directions: Promise<LayerBasis[]> | null = null;

  constructor(source: ModelSource, options: SessionOptions) {
    this.#source = source;
    this.#options = options;
  }

  get(spec: GraphSpec): Promise<Session> {
    const key = JSON.stringify(spec);
    const known = this.#opened.get(key);
    if (known) return known;
    const session = this.#open(spec);
    this.#opened.set(key, session);
    session.catch(() => this.#opened.delete(key));
    return session;
  }

  async #open(spec: GraphSpec): Promise<Session> {
    return openSession(await this.#build(spec), this.#options);
  }

  async #build(spec: GraphSpec): Promise<Graph> {
    const fused = true;
    switch (spec.kind) {
      case 'forward':
        return buildForwardGraph(this.#source, { ...spec, fused });
      case 'score':
        return buildScoreGraph(this.#source, { ...spec, fused });
      case 'tangent':
        return buildTangentGraph(this.#source);
      case 'tokur': {
        this.#directions ??= tokurBases(this.#source, this.#options);
        return buildTokurGraph(this.#source, { ...spec, fused, directions: await this.#directions });
      }
    }
  }
}
