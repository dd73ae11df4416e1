import type { Counter } from 'prom-client';
import type { Definition } from './definition.js';
import type { Families } from './families.js';

type WebhookLabels = typeof WEBHOOK_MESSAGES.labels;
export type WebhookEvent = WebhookLabels['event'][number];
export type DeliveryOutcome = WebhookLabels['outcome'][number];

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

export const WEBHOOK_MESSAGES = {
  name: 'flinch_webhook_messages_total',
  type: 'counter',
  help: 'Messages to webhooks that are over: `delivered` to a receiver that answered 2xx, `failed` after the last try, or `dropped` because 1000 were waiting or the gateway ended.',
  labels: {
    webhook: 'the place of the receiver in `webhooks`, from 0',
    event: ['flag', 'verdict'],
    outcome: ['delivered', 'failed', 'dropped'],
  },
} as const satisfies Definition;

/** Counts of spans and webhooks that were sent, and of those that were not. */
export class TelemetryMetrics {
  readonly #spans: Counter<'reason'>;
  readonly #contexts: Counter;
  readonly #webhooks: Counter<'webhook' | 'event' | 'outcome'>;

  constructor(families: Families) {
    this.#spans = families.counter(SPANS_DROPPED);
    for (const reason of DROP_REASONS) this.#spans.inc({ reason }, 0);
    this.#contexts = families.counter(CONTEXTS_IGNORED);
    this.#webhooks = families.counter(WEBHOOK_MESSAGES);
  }

  spansDropped(reason: DropReason, spans: number): void {
    this.#spans.inc({ reason }, spans);
  }

  /** Shows a receiver before it is sent anything. */
  watchWebhook(webhook: number): void {
    const { event: events, outcome: outcomes } = WEBHOOK_MESSAGES.labels;
    for (const event of events) for (const outcome of outcomes) this.webhook(webhook, event, outcome, 0);
  }

  webhook(webhook: number, event: WebhookEvent, outcome: DeliveryOutcome, messages = 1): void {
    this.#webhooks.inc({ webhook: String(webhook), event, outcome }, messages);
  }

  contextIgnored(): void {
    this.#contexts.inc();
  }
}
