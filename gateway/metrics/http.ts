import type { Counter } from 'prom-client';
import { ERROR_CODES, type ErrorCode } from '../errors/codes.js';
import { ADMISSION_REFUSALS } from './admission.js';
import { type Definition, type HistogramDefinition, MODEL } from './definition.js';
import type { Families } from './families.js';
import type { Histogram } from './histogram.js';

const VERBS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'other'] as const;
const ROUTES = [
  '/livez',
  '/readyz',
  '/healthz',
  '/v1/chat/completions',
  '/v1/chat/completions/:id',
  '/v1/tickets',
  '/v1/models',
  '/v1/models/*name',
  '/v1/*',
  '/metrics',
  'page',
  'other',
] as const;
const STATUSES = ['1xx', '2xx', '3xx', '4xx', '5xx', 'aborted'] as const;

export const REQUEST_DURATION = {
  name: 'flinch_http_request_duration_seconds',
  type: 'histogram',
  help: "Seconds from the headers of an HTTP request to the end of its response; for streams, including the time of reading. The route is a template; `page` stands for the page's files. Status `aborted`: the client left before a response began.",
  labels: { method: VERBS, route: ROUTES, status: STATUSES },
  // The range is from an answer out of memory to a long stream.
  buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30, 120, 600],
} as const satisfies HistogramDefinition;

export const REFUSED = {
  name: 'flinch_refused_requests_total',
  type: 'counter',
  help: 'Error responses to requests, handshakes and messages, by code. Errors in a running stream are counted in flinch_generations_total.',
  labels: { code: ERROR_CODES },
} as const satisfies Definition;

export const ADMISSION = {
  name: 'flinch_admission_refusals_total',
  type: 'counter',
  help: 'Refusals among flinch_refused_requests_total that rejected a generation, by model. Excludes requests refused before they were read.',
  labels: { model: MODEL, reason: ADMISSION_REFUSALS },
} as const satisfies Definition;

export interface ObservedRequest {
  readonly method: string;
  /** The template that fits, such as `/v1/models/*name`, never the path itself. */
  readonly route: string;
  /** `null` where the client left before there was one. */
  readonly status: number | null;
  readonly seconds: number;
}

/** Requests, and those that were refused. */
export class HttpMetrics {
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  readonly #refused: Counter<'code'>;
  readonly #admission: Counter<'model' | 'reason'>;
  readonly #models = new Set<string>();

  constructor(families: Families) {
    this.#requests = families.histogram(REQUEST_DURATION);
    // Alerts need these from the start: a series that first appears with an error has no rate.
    for (const status of ['2xx', '4xx', '5xx', 'aborted'])
      this.#requests.series({ method: 'POST', route: '/v1/chat/completions', status });
    this.#refused = families.counter(REFUSED);
    for (const code of ERROR_CODES) this.#refused.inc({ code }, 0);
    this.#admission = families.counter(ADMISSION);
    this.watch('');
  }

  /** Counts its refusals from 0 on: one that first appears as 1 has no rate. */
  watch(model: string): void {
    this.#models.add(model);
    for (const reason of ADMISSION_REFUSALS) this.#admission.inc({ model, reason }, 0);
  }

  request({ method, route, status, seconds }: ObservedRequest): void {
    const labels = {
      method: oneOf(VERBS, method),
      route: oneOf(ROUTES, route),
      status: status === null ? 'aborted' : `${Math.floor(status / 100)}xx`,
    };
    this.#requests.series(labels).observe(seconds);
  }

  /** @param model requested model, if it was read; a model that is not served counts as none */
  refused(code: ErrorCode, model = ''): void {
    this.#refused.inc({ code });
    const reason = ADMISSION_REFUSALS.find((each) => each === code);
    if (reason) this.#admission.inc({ model: this.#models.has(model) ? model : '', reason });
  }
}

const oneOf = (known: readonly string[], text: string): string => (known.includes(text) ? text : 'other');
