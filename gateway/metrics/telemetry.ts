import type { Counter } from 'prom-client';
import type { Definition } from './definition.js';
import type { Families } from './families.js';

const DROP_REASONS = ['queue_full', 'export_failed'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export const SPANS_DROPPED = {
  name: 'flinch_trace_spans_dropped_total',
  type: 'counter',
  help: 'Spans that did not reach the OpenTelemetry collector: the queue was full, or the collector could not be reached, did not answer in time or refused them.',
  labels: { reason: DROP_REASONS },
} as const satisfies Definition;

export const CONTEXTS_IGNORED = {
  name: 'flinch_trace_contexts_ignored_total',
  type: 'counter',
  help: 'Requests and handshakes whose `traceparent` or `tracestate` was ignored because it was too long or malformed.',
  labels: {},
} as const satisfies Definition;

/** What is sent to others, and what is not. */
export class TelemetryMetrics {
  readonly #spans: Counter<'reason'>;
  readonly #contexts: Counter;

  constructor(families: Families) {
    this.#spans = families.counter(SPANS_DROPPED);
    for (const reason of DROP_REASONS) this.#spans.inc({ reason }, 0);
    this.#contexts = families.counter(CONTEXTS_IGNORED);
  }

  spansDropped(reason: DropReason, spans: number): void {
    this.#spans.inc({ reason }, spans);
  }

  contextIgnored(): void {
    this.#contexts.inc();
  }
}
