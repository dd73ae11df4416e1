import type { Counter, Gauge } from 'prom-client';
import type { Role } from '../../src/engine/protocol.js';
import type { WatchedEngine } from '../models/served-model.js';
import { type Definition, type HistogramDefinition, MODEL } from './definition.js';
import type { Families } from './families.js';
import type { Histogram } from './histogram.js';
import { ScorerServerMetrics } from './scorer-servers.js';

const PROCESSES = ['decode', 'score'] as const satisfies readonly Role[];
const LABELS = { model: MODEL, process: PROCESSES } as const;

export const PASS_DURATION = {
  name: 'flinch_score_pass_duration_seconds',
  type: 'histogram',
  help: 'Seconds from the request of a score pass, or of a sample of perturbed copies, to its result, including waiting in the process. Excludes failed passes.',
  labels: { model: MODEL },
  buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30],
} as const satisfies HistogramDefinition;

export const QUEUE_DEPTH = {
  name: 'flinch_queue_depth',
  type: 'gauge',
  help: 'Sequences that wait for a result of the process (decode: a token, score: a pass), including those in progress.',
  labels: LABELS,
} as const satisfies Definition;

export const RESTARTS = {
  name: 'flinch_engine_restarts_total',
  type: 'counter',
  help: 'Restarts of an engine process after it died, stalled or failed to start.',
  labels: LABELS,
  aggregator: 'max', // each worker counts those of the processes that all use
} as const satisfies Definition;

export const ENGINE_UP = {
  name: 'flinch_engine_up',
  type: 'gauge',
  help: '1 while the process runs and has opened its model, otherwise 0.',
  labels: LABELS,
  aggregator: 'max',
} as const satisfies Definition;

/** The processes of a model that the gateway runs itself, or of the scorer of one that it does not. */
export class EngineMetrics {
  readonly #families: Families;
  readonly #passes: Histogram<'model'>;
  readonly #depth: Gauge<'model' | 'process'>;
  readonly #restarts: Counter<'model' | 'process'>;
  readonly #up: Gauge<'model' | 'process'>;
  readonly #servers: ScorerServerMetrics;

  constructor(families: Families) {
    this.#families = families;
    this.#passes = families.histogram(PASS_DURATION);
    this.#depth = families.gauge(QUEUE_DEPTH);
    this.#restarts = families.counter(RESTARTS);
    this.#up = families.gauge(ENGINE_UP);
    this.#servers = new ScorerServerMetrics(families);
  }

  /** @returns a function that removes our listeners from the engine, which may outlive us */
  watch(model: string, { engine, processes }: WatchedEngine): () => void {
    const passes = this.#passes.series({ model });
    const stop = engine.onPass((ms) => passes.observe(ms / 1000));
    const counted = new Map<Role, number>();
    this.#families.beforeRead(() => {
      const status = engine.status();
      this.#servers.read(model, status.score.servers);
      for (const process of processes) {
        const { device, restarts, waiting } = status[process];
        const labels = { model, process };
        this.#up.set(labels, device === undefined ? 0 : 1);
        this.#depth.set(labels, waiting);
        this.#restarts.inc(labels, restarts - (counted.get(process) ?? 0));
        counted.set(process, restarts);
      }
    });
    return stop;
  }
}
