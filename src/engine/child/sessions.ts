import type { ModelSource } from '../../model/decoder.js';
import { buildForwardGraph, type ForwardGraphOptions } from '../../model/forward-graph.js';
import { buildScoreGraph, type ScoreGraphOptions } from '../../model/score-graph.js';
import { buildTangentGraph } from '../../model/tangent-graph.js';
import { openSession, type Session, type SessionOptions } from '../session.js';

/** A graph by its options. */
export type GraphSpec =
  | ({ readonly kind: 'forward' } & Omit<ForwardGraphOptions, 'fused'>)
  | ({ readonly kind: 'score' } & Omit<ScoreGraphOptions, 'fused'>)
  | { readonly kind: 'tangent' };

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

  constructor(source: ModelSource, options: SessionOptions) {
    this.#source = source;
    this.#options = options;
  }

  get(spec: GraphSpec): Promise<Session> {
    const key = JSON.stringify(spec);
    const known = this.#opened.get(key);
    if (known) return known;
    const session = openSession(build(this.#source, spec), this.#options);
    this.#opened.set(key, session);
    return session;
  }
}

function build(source: ModelSource, spec: GraphSpec) {
  if (spec.kind === 'tangent') return buildTangentGraph(source);
  const options = { ...spec, fused: true };
  return options.kind === 'forward' ? buildForwardGraph(source, options) : buildScoreGraph(source, options);
}
