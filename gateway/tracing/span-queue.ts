import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';

/** Maximum spans that wait or are on their way, unless `OTEL_BSP_MAX_QUEUE_SIZE` is set. */
const MAX_SPANS = 2048;

export const DROP_REASONS = ['queue_full', 'export_failed'] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export interface SpanQueueOptions {
  /** Maximum spans that may wait or be on their way. */
  readonly most?: number;
  readonly dropped: (reason: DropReason, spans: number) => void;
  /** Called for each batch with its error; `null` if it has arrived. */
  readonly sent: (error: unknown) => void;
}

/** Bounds the spans between their end and the collector's answer, and counts those that are lost on the way. */
export class SpanQueue {
  readonly #options: Required<SpanQueueOptions>;
  readonly #idle = new Set<() => void>();
  #waiting = 0;
  #closed = false;

  constructor({ most = MAX_SPANS, ...options }: SpanQueueOptions) {
    this.#options = { most, ...options };
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Wraps a processor, so that spans over the limit are dropped before the batches are made. */
  bounded(processor: SpanProcessor): SpanProcessor {
    return {
      onStart: (span, context) => processor.onStart(span, context),
      onEnd: (span) => this.#add(span, processor),
      forceFlush: () => processor.forceFlush(),
      shutdown: () => processor.shutdown(),
    };
  }

  /** Wraps an exporter, so that spans of finished batches are no longer counted as waiting. */
  counted(exporter: SpanExporter, success: number): SpanExporter {
    return {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          this.#waiting -= spans.length;
          if (this.#waiting === 0) for (const resolve of this.#idle) resolve();
          const failed = result.code !== success;
          if (!this.#closed) {
            if (failed) this.#options.dropped('export_failed', spans.length);
            this.#options.sent(failed ? (result.error ?? new Error('export failed')) : null);
          }
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
    };
  }

  /** Resolves once none is left. */
  async idle(): Promise<void> {
    if (this.#waiting === 0) return;
    await new Promise<void>((resolve) => this.#idle.add(resolve));
  }

  /** Counts the spans that are left as lost. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#waiting > 0) this.#options.dropped('export_failed', this.#waiting);
  }

  #add(span: ReadableSpan, processor: SpanProcessor): void {
    // The processor takes only spans that are sampled.
    if (!(span.spanContext().traceFlags & 1)) return;
    if (this.#closed || this.#waiting >= this.#options.most) {
      this.#options.dropped('queue_full', 1);
      return;
    }
    this.#waiting += 1;
    processor.onEnd(span);
  }
}
