import { randomUUID } from 'node:crypto';
import { ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { packageVersion } from '../../src/package-root.js';
import type { SpanQueue } from './span-queue.js';

/** OpenTelemetry's SDK with its exporter, as the variables `OTEL_*` say; loaded only where it is used. */
export function tracerProvider(queue: SpanQueue): BasicTracerProvider {
  const exporter = queue.counted(new OTLPTraceExporter(), ExportResultCode.SUCCESS);
  const own = resourceFromAttributes({
    'service.name': 'flinch',
    'service.version': packageVersion(),
    'service.instance.id': randomUUID(),
  });
  return new BasicTracerProvider({
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [queue.bounded(new BatchSpanProcessor(exporter))],
  });
}
