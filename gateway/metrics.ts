import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ErrorCode } from './error-codes.js';

/** From an answer out of memory to a long stream, in seconds. */
const DURATION_BUCKETS = [0.005, 0.02, 0.1, 0.5, 2, 10, 30, 120, 600];

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST'] as const;

/** What can be read off when somebody asks for the metrics. */
export interface MetricsSources {
  readonly generations: () => number;
  readonly connections: () => { readonly http: number; readonly websocket: number };
}

export interface ObservedRequest {
  readonly method: string;
  /** The template that fits, such as `/v1/models/:id`, never the path itself. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

/** What the gateway counts. Every label is from a closed set: no client can make a new one, nor have its words in one. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Histogram({
    name: 'flinch_http_request_duration_seconds',
    help: 'From the head of a request to the end of its answer; streams last as long as they are read.',
    labelNames: ['method', 'route', 'status'],
    buckets: DURATION_BUCKETS,
    registers: [this.#registry],
  });
  readonly #refused = new Counter({
    name: 'flinch_refused_requests_total',
    help: 'Requests that were answered with an error, by its code.',
    labelNames: ['code'],
    registers: [this.#registry],
  });
  readonly #upstreamErrors = new Counter({
    name: 'flinch_upstream_errors_total',
    help: 'Faults of upstream servers, those that another try made good among them.',
    labelNames: ['kind'],
    registers: [this.#registry],
  });
  readonly #scorerMismatches = new Counter({
    name: 'flinch_scorer_mismatches_total',
    help: "Responses whose scorer disagreed with the server's log-probabilities.",
    labelNames: ['model'],
    registers: [this.#registry],
  });

  /** Reads what a gateway has under way whenever the metrics are asked for; called by the gateway, once. */
  watch({ generations, connections }: MetricsSources): void {
    new Gauge({
      name: 'flinch_generations',
      help: 'Generations under way.',
      registers: [this.#registry],
      collect() {
        this.set(generations());
      },
    });
    new Gauge({
      name: 'flinch_connections',
      help: 'Connections that are open; a WebSocket is one of both kinds.',
      labelNames: ['kind'],
      registers: [this.#registry],
      collect() {
        const { http, websocket } = connections();
        this.set({ kind: 'http' }, http);
        this.set({ kind: 'websocket' }, websocket);
      },
    });
  }

  request({ method, route, status, seconds }: ObservedRequest): void {
    const known = METHODS.find((name) => name === method) ?? 'other';
    this.#requests.observe({ method: known, route, status: `${Math.floor(status / 100)}xx` }, seconds);
  }

  refused(code: ErrorCode): void {
    this.#refused.inc({ code });
  }

  upstreamError(kind: Extract<ErrorCode, `upstream_${string}`>): void {
    this.#upstreamErrors.inc({ kind });
  }

  /** @param model by its name in the configuration */
  scorerMismatch(model: string): void {
    this.#scorerMismatches.inc({ model });
  }

  /** In Prometheus's text format. */
  async text(): Promise<string> {
    return Registry.merge([processMetrics(), this.#registry]).metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}

let ofProcess: Registry | undefined;

/** CPU, memory, event loop and garbage collection: once in a process, for their observers cannot be taken down. */
function processMetrics(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}
