import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import { z } from 'zod';
import { httpReceiver } from './http-receiver.js';

/** The part of opentelemetry-proto 1.9 that a trace has (collector/trace/v1, trace/v1, resource/v1, common/v1). */
const PROTO = `syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message Scope { string name = 1; string version = 2; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value {
  string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5;
} }
message ArrayValue { repeated AnyValue values = 1; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  uint32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  repeated Event events = 11; uint32 dropped_events_count = 12; Status status = 15;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Status { string message = 2; uint32 code = 3; }`;

const type = protobuf.parse(PROTO, { keepCase: true }).root.lookupType('Request');

type Value = string | number | boolean | readonly Value[];
const anyValue: z.ZodType<Value> = z.lazy(() =>
  z
    .object({
      string_value: z.string(),
      bool_value: z.boolean(),
      int_value: z.number(),
      double_value: z.number(),
      array_value: z.object({ values: z.array(anyValue) }).transform(({ values }) => values),
    })
    .partial()
    .transform((given) => Object.values(given)[0] ?? ''),
);
const attributes = z
  .array(z.object({ key: z.string(), value: anyValue }))
  .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, value])));
const span = z.object({
  trace_id: z.string(),
  span_id: z.string(),
  parent_span_id: z.string(),
  trace_state: z.string(),
  name: z.string(),
  kind: z.number(),
  attributes,
  events: z.array(z.object({ name: z.string(), attributes })),
  status: z.object({ code: z.number() }).nullish(),
});
const request = z.object({
  resource_spans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scope_spans: z.array(z.object({ scope: z.object({ name: z.string() }), spans: z.array(span) })),
    }),
  ),
});
const hex = (base64: string): string => Buffer.from(base64, 'base64').toString('hex');

export type ReceivedSpan = z.output<typeof span> & { readonly resource: Readonly<Record<string, Value>> };

/** A collector of OpenTelemetry's for traces over HTTP, until the test is over. */
export async function otlpReceiver(answer: (res: ServerResponse) => void = (res) => void res.end()) {
  const spans: ReceivedSpan[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const url = await httpReceiver(async (req, res) => {
    headers.push(req.headers);
    const body = await buffer(req);
    if (req.url !== '/v1/traces') return void res.writeHead(404).end();
    spans.push(...decode(req.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
    answer(res);
  });
  return { url, spans, headers };
}

function decode(body: Buffer): ReceivedSpan[] {
  const options = { longs: Number, bytes: String, defaults: true };
  const read = request.parse(type.toObject(type.decode(body), options));
  return read.resource_spans.flatMap(({ resource, scope_spans }) =>
    scope_spans.flatMap(({ spans }) =>
      spans.map((each) => ({
        ...each,
        trace_id: hex(each.trace_id),
        span_id: hex(each.span_id),
        parent_span_id: hex(each.parent_span_id),
        resource: resource.attributes,
      })),
    ),
  );
}
