import type { IncomingHttpHeaders } from 'node:http';
import {
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  trace,
} from '@opentelemetry/api';

/** Maximum length of `traceparent`: that of an unknown version may go on after the fields of version 00. */
const MAX_PARENT = 256;
/** Length of `tracestate` that every party has to pass on (W3C Trace Context, section 3.3.1.5). */
const MAX_STATE = 512;

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

export interface ReadTrace {
  readonly context: Context;
  /** Whether a header was there that is too long or malformed. */
  readonly ignored: boolean;
}

/**
 * The trace that a request belongs to: that of the application around us, if it has an active span; else that of the
 * headers `traceparent` and `tracestate`.
 */
export function readTrace({ traceparent, tracestate = '' }: IncomingHttpHeaders): ReadTrace {
  const active = context.active();
  if (trace.getSpan(active) || traceparent === undefined) return { context: active, ignored: false };
  const read = readParent(String(traceparent));
  if (!read) return { context: active, ignored: true };
  const text = String(tracestate);
  const traceState = text.length > MAX_STATE ? undefined : createTraceState(text);
  const fits = text === '' || Boolean(traceState?.serialize());
  const parent = { ...read, isRemote: true, ...(text !== '' && fits && traceState && { traceState }) };
  return { context: trace.setSpanContext(ROOT_CONTEXT, parent), ignored: !fits };
}

/** The same where ignored headers are counted. */
export function countedTrace(
  headers: IncomingHttpHeaders,
  metrics: { traceContext(ignored: boolean): void },
): Context {
  const { context, ignored } = readTrace(headers);
  metrics.traceContext(ignored);
  return context;
}

function readParent(text: string) {
  const [, version, traceId = '', spanId = '', flags = '', rest] =
    (text.length <= MAX_PARENT && PARENT.exec(text)) || [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
  return isSpanContextValid(parent) ? parent : null;
}

/** The headers that say which trace it is; none where there is none. */
export function traceHeaders(of: Context | undefined): Readonly<Record<string, string>> {
  const span = of && trace.getSpanContext(of);
  if (!span || !isSpanContextValid(span)) return {};
  const flags = span.traceFlags.toString(16).padStart(2, '0');
  const state = span.traceState?.serialize();
  return {
    traceparent: `00-${span.traceId}-${span.spanId}-${flags}`,
    ...(state && { tracestate: state }),
  };
}
