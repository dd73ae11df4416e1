import { chatSchema } from '../requests/generation-request.js';
import { requestSchema, responseSchema } from './json-schema.js';
import {
  chunk,
  completion,
  failure,
  health,
  liveness,
  model,
  models,
  readiness,
  ticket,
} from './responses.js';

type Json = Readonly<Record<string, unknown>>;

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const json = (name: string, description: string): Json => ({
  description,
  content: { 'application/json': { schema: ref(name) } },
});
const refused = (description: string): Json => json('Error', description);

/** The streamed answer; OpenAPI describes no events, so the schema is that of one event's `data:`. */
const streamed = (description: string): Json => ({
  description,
  content: {
    'text/event-stream': {
      schema: { anyOf: [ref('ChatCompletionChunk'), ref('Error'), { const: '[DONE]' }] },
    },
  },
});

const COMMON = {
  '401': refused('No key, or one that is not known.'),
  '403': refused('A page of an origin that may not use the gateway, or a key that may not do this.'),
  '408': refused('The request took too long to arrive.'),
  '421': refused('The `Host` is not a name of this gateway.'),
  '431': refused('The headers are too large.'),
  '429': refused('More requests, or more generations at once, than the key may have; see `Retry-After`.'),
  '503': refused('Overloaded, starting or shutting down; see `Retry-After`.'),
};

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'The `id:` of the last event that arrived: the stream goes on after it.',
  schema: { type: 'string' },
};

/** The HTTP side of the gateway in OpenAPI 3.1. Its WebSocket is in asyncapi.json. */
export function openApi(version: string): Json {
  return {
    openapi: '3.1.1',
    info: {
      title: 'flinch',
      version,
      summary:
        'A language model with its hesitation: OpenAI-compatible chat completions, with scores for each token.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:8787' }],
    security: [{}, { key: [] }],
    paths: {
      '/v1/chat/completions': {
        post: {
          operationId: 'createChatCompletion',
          summary: 'Write an answer, scored and guarded.',
          parameters: [{ ...LAST_EVENT_ID, required: false }],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: ref('ChatCompletionRequest') } },
          },
          responses: {
            '200': {
              description: 'The answer; with `stream`, its events.',
              content: { ...contentOf(json('ChatCompletion', '')), ...contentOf(streamed('')) },
            },
            '400': refused('A field of the request is at fault; `param` names it.'),
            '404': refused('There is no such model.'),
            '410': refused('With `Last-Event-ID`: that stream cannot be continued.'),
            '413': refused('The body is too large.'),
            '415': refused('The body is compressed, or in another encoding than UTF-8.'),
            '500': refused('The computation was lost, or the gateway is at fault.'),
            '502': refused('The upstream failed.'),
            '504': refused('The upstream did not answer in time.'),
            ...COMMON,
          },
        },
      },
      '/v1/chat/completions/{id}': {
        get: {
          operationId: 'resumeChatCompletion',
          summary: 'Go on with a resumable stream that was cut.',
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
            { ...LAST_EVENT_ID, required: true },
          ],
          responses: {
            '200': streamed('All events after the one that was named, then the live ones.'),
            '400': refused('No usable `Last-Event-ID`.'),
            '410': refused('The stream cannot be continued: code `not_recovered`.'),
            ...COMMON,
          },
        },
      },
      '/v1/models': {
        get: {
          operationId: 'listModels',
          summary: 'The models that are served.',
          responses: { '200': json('ModelList', 'All of them.'), ...COMMON },
        },
      },
      '/v1/models/{id}': {
        get: {
          operationId: 'retrieveModel',
          summary: 'One model.',
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
          responses: { '200': json('Model', 'It is served.'), '404': refused('It is not.'), ...COMMON },
        },
      },
      '/v1/tickets': {
        post: {
          operationId: 'createTicket',
          summary: 'A ticket that opens one WebSocket, for browsers, which cannot send headers with it.',
          responses: { '201': json('Ticket', 'Good for one connection, and not for long.'), ...COMMON },
        },
      },
      '/healthz': {
        get: {
          operationId: 'health',
          summary: 'What state the models are in.',
          security: [{}],
          responses: { '200': json('Health', 'Also where it is degraded.') },
        },
      },
      '/livez': {
        get: {
          operationId: 'live',
          summary: 'That the process runs, also while it drains.',
          security: [{}],
          responses: { '200': json('Liveness', 'It does.') },
        },
      },
      '/readyz': {
        get: {
          operationId: 'ready',
          summary: 'Whether new generations are taken on.',
          security: [{}],
          responses: { '200': json('Readiness', 'They are.'), '503': json('Readiness', 'They are not.') },
        },
      },
      '/metrics': {
        get: {
          operationId: 'metrics',
          summary: 'Metrics for Prometheus; not here where they have a listener of their own.',
          responses: {
            '200': {
              description: 'The metrics; in OpenMetrics with exemplars, for those who ask for it.',
              content: {
                'text/plain': { schema: { type: 'string' } },
                'application/openmetrics-text': { schema: { type: 'string' } },
              },
            },
            ...COMMON,
          },
        },
      },
    },
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: {
        ChatCompletionRequest: requestSchema(chatSchema),
        ChatCompletion: responseSchema(completion),
        ChatCompletionChunk: responseSchema(chunk),
        Error: responseSchema(failure),
        Model: responseSchema(model),
        ModelList: responseSchema(models),
        Ticket: responseSchema(ticket),
        Health: responseSchema(health),
        Liveness: responseSchema(liveness),
        Readiness: responseSchema(readiness),
      },
    },
  };
}

function contentOf({ content }: Json): Json {
  return typeof content === 'object' && content !== null ? { ...content } : {};
}
