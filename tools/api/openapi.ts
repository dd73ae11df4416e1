import { completionSchema } from '../../gateway/requests/completion-request.js';
import { EVENT_ID } from '../../gateway/requests/event-id.js';
import { chatSchema } from '../../gateway/requests/generation-request.js';
import { guardrailSchema } from '../../gateway/requests/guardrail-request.js';
import { responseSchema as responseApiSchema } from '../../gateway/requests/response-request.js';
import {
  calibration,
  chunk,
  completion,
  failure,
  flagMessage,
  guardrail,
  health,
  liveness,
  model,
  models,
  readiness,
  response,
  responseEvent,
  textChunk,
  textCompletion,
  ticket,
  verdictMessage,
} from './openapi-responses.js';
import { type Json, requestSchema, responseSchema } from './schema-document.js';

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const contentOf = (name: string): Json => ({ 'application/json': { schema: ref(name) } });
const json = (name: string, description: string): Json => ({ description, content: contentOf(name) });
const refused = (description: string): Json => json('Error', description);
const bodyOf = (name: string): Json => ({ required: true, content: contentOf(name) });

const operation = (
  operationId: string,
  summary: string,
  responses: Json,
  parameters?: readonly Json[],
): Json => ({
  operationId,
  summary,
  ...(parameters && { parameters }),
  responses,
});
/** Without a key. */
const open = (...parts: Parameters<typeof operation>): Json => ({ ...operation(...parts), security: [{}] });

/** One of OpenAI's APIs that write a text. */
interface Api {
  readonly path: string;
  /** The name of its answer's schema. */
  readonly operation: string;
  readonly summary: string;
  /** Schemas of the `data:` of its events: OpenAPI cannot describe events. */
  readonly data: readonly Json[];
}

const COMMON = {
  '401': refused('The API key is missing or unknown.'),
  '403': refused(
    "The origin of the page is not allowed, the key lacks this permission, or the request violates the operator's policy.",
  ),
  '408': refused('The request took too long to arrive.'),
  '421': refused('`Host` is not an allowed name of this gateway.'),
  '431': refused('The headers are too large.'),
  '429': refused(
    'The limit of requests or concurrent generations of the key is exceeded; see `Retry-After`.',
  ),
  '503': refused('Overloaded, starting or shutting down; see `Retry-After`.'),
};

const NO_MODEL = { '404': refused('The model does not exist.') };

const INVALID = {
  '400': refused('A field of the request is invalid; `param` names it.'),
  '413': refused('The body is too large.'),
  '415': refused('The body is compressed, or its charset is not UTF-8.'),
  '500': refused('The computation failed, or the gateway has a fault.'),
};

const TEXT = { schema: { type: 'string' } };
const ID = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'The `id:` of the last event received; the stream continues after it.',
  schema: { type: 'string', pattern: EVENT_ID.source },
};

const ANSWER_HEADERS = {
  'x-flinch-resumable': {
    description: 'With `resumable`: whether it can be resumed. `false` while the shared state is away.',
    schema: { enum: ['true', 'false'] },
  },
  'x-flinch-advice': {
    description:
      '`check` if the answer or a step of it is flagged, otherwise `ordinary`; `unknown` if it was not scored as a whole. Not with `stream`.',
    schema: { enum: ['check', 'ordinary', 'unknown'] },
  },
  'x-flinch-flagged': {
    description:
      'Whether the answer is flagged; `unknown` if it was not scored as a whole. Not with `stream`.',
    schema: { enum: ['true', 'false', 'unknown'] },
  },
  'x-flinch-risk': {
    description: 'Its risk, if it is known. Not with `stream`.',
    schema: { type: 'number', minimum: 0, maximum: 1 },
  },
};

const APIS: readonly Api[] = [
  {
    path: '/v1/chat/completions',
    operation: 'ChatCompletion',
    summary: 'Create a chat completion, scored and guarded.',
    data: [ref('ChatCompletionChunk'), ref('Error'), { const: '[DONE]' }],
  },
  {
    path: '/v1/completions',
    operation: 'Completion',
    summary: 'Create a completion of a prompt without a chat template, scored and guarded.',
    data: [ref('CompletionChunk'), ref('Error'), { const: '[DONE]' }],
  },
  {
    path: '/v1/responses',
    operation: 'Response',
    summary: 'Create a response, scored and guarded. It is stored only by an upstream that does so.',
    data: [ref('ResponseEvent')],
  },
];

function pathsOf({ path, operation, summary, data }: Api): Json {
  const events = { 'text/event-stream': { schema: { anyOf: data } } };
  return {
    [path]: {
      post: {
        operationId: `create${operation}`,
        summary,
        parameters: [{ ...LAST_EVENT_ID, required: false }],
        requestBody: bodyOf(`${operation}Request`),
        responses: {
          '200': {
            description: 'The answer; with `stream`, its events.',
            headers: ANSWER_HEADERS,
            content: { ...contentOf(operation), ...events },
          },
          ...INVALID,
          ...NO_MODEL,
          '410': refused('With `Last-Event-ID`: the stream cannot be resumed.'),
          '502': refused('The upstream failed.'),
          '504': refused('The upstream did not answer in time.'),
          ...COMMON,
        },
      },
    },
    [`${path}/{id}`]: {
      get: {
        operationId: `resume${operation}`,
        summary: 'Resume an interrupted resumable stream.',
        parameters: [ID, { ...LAST_EVENT_ID, required: true }],
        responses: {
          '200': { description: 'All events after the given one, then live events.', content: events },
          '400': refused('`Last-Event-ID` is missing or invalid.'),
          '410': refused('The stream cannot be resumed: code `not_recovered`.'),
          ...COMMON,
        },
      },
    },
  };
}

/** Signed by the specification of Standard Webhooks. */
const SIGNATURE = [
  ['webhook-id', 'The same for each try of a message.'],
  ['webhook-timestamp', 'Seconds since 1970 of this try.'],
  ['webhook-signature', '`v1,` and the HMAC-SHA256 of `{id}.{timestamp}.{body}` in Base64.'],
].map(([name, description]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}));

const webhook = (name: string, summary: string): Json => ({
  post: {
    operationId: `receive${name}`,
    summary,
    parameters: SIGNATURE,
    requestBody: bodyOf(`${name}Message`),
    responses: {
      '2XX': { description: 'Received. After 408, 429 and 5XX, and without an answer, it is sent again.' },
    },
    security: [],
  },
});

/** The HTTP side of the gateway in OpenAPI 3.1. Its WebSocket is in docs/reference/events.md. */
export function openApi(version: string): Json {
  return {
    openapi: '3.1.1',
    info: {
      title: 'flinch',
      version,
      summary: "OpenAI's chat completions, completions and responses with uncertainty scores for each token.",
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:8787' }],
    security: [{}, { key: [] }],
    paths: {
      ...Object.assign({}, ...APIS.map(pathsOf)),
      '/beta/litellm_basic_guardrail_api': {
        post: {
          operationId: 'applyGuardrail',
          summary:
            "LiteLLM's generic guardrail API: score the texts of a response. The key may be in `x-api-key`.",
          requestBody: bodyOf('GuardrailRequest'),
          responses: {
            '200': json('Guardrail', '`BLOCKED` for a text that is flagged, otherwise `NONE`.'),
            ...INVALID,
            ...NO_MODEL,
            ...COMMON,
            '503': refused(
              'Overloaded, starting or shutting down; or a text is scored and not judged: code `not_judged`.',
            ),
          },
        },
      },
      '/v1/models': {
        get: operation('listModels', 'List the models.', {
          '200': json('ModelList', 'All models.'),
          ...COMMON,
        }),
      },
      '/v1/models/{id}': {
        get: operation(
          'retrieveModel',
          'Retrieve one model.',
          {
            '200': json('Model', 'The model.'),
            ...NO_MODEL,
            ...COMMON,
          },
          [ID],
        ),
      },
      '/v1/models/{id}/calibration': {
        post: operation(
          'calibrateModel',
          'Calibrate a model while no request runs; `flinch.calibration` of the model says how far that is.',
          {
            '202': json('Calibration', 'It runs.'),
            '404': refused('The model does not exist, or its `flinch.calibration` is `null`.'),
            ...COMMON,
          },
          [ID],
        ),
      },
      '/v1/tickets': {
        post: operation(
          'createTicket',
          'Create a ticket that opens one WebSocket, for browsers, which cannot send headers in the handshake.',
          { '201': json('Ticket', 'A ticket for one connection, valid for a short time.'), ...COMMON },
        ),
      },
      '/healthz': {
        get: open('health', 'State of the models.', {
          '200': json('Health', 'The state; also 200 if degraded.'),
        }),
      },
      '/livez': {
        get: open('live', 'Whether the process runs, also while it drains.', {
          '200': json('Liveness', 'The process runs.'),
        }),
      },
      '/readyz': {
        get: open('ready', 'Whether new generations are accepted.', {
          '200': json('Readiness', 'Ready.'),
          '503': json('Readiness', 'Not ready.'),
        }),
      },
      '/metrics': {
        get: operation('metrics', 'Metrics for Prometheus; not available here if `metrics.port` is set.', {
          '200': {
            description: 'The metrics; OpenMetrics, with exemplars, if `Accept` asks for it.',
            content: { 'text/plain': TEXT, 'application/openmetrics-text': TEXT },
          },
          ...COMMON,
        }),
      },
    },
    webhooks: {
      flag: webhook('Flag', 'A step is flagged; sent to the receivers in `webhooks` of the configuration.'),
      verdict: webhook(
        'Verdict',
        'An answer has ended, failed or was cancelled. `verdict` is `null` unless it came to its end with a guard.',
      ),
    },
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: {
        ChatCompletionRequest: requestSchema(chatSchema),
        ChatCompletion: responseSchema(completion),
        ChatCompletionChunk: responseSchema(chunk),
        CompletionRequest: requestSchema(completionSchema),
        Completion: responseSchema(textCompletion),
        CompletionChunk: responseSchema(textChunk),
        GuardrailRequest: requestSchema(guardrailSchema),
        Guardrail: responseSchema(guardrail),
        ResponseRequest: requestSchema(responseApiSchema),
        Response: responseSchema(response),
        ResponseEvent: responseSchema(responseEvent),
        Error: responseSchema(failure),
        Model: responseSchema(model),
        ModelList: responseSchema(models),
        Calibration: responseSchema(calibration),
        Ticket: responseSchema(ticket),
        Health: responseSchema(health),
        Liveness: responseSchema(liveness),
        Readiness: responseSchema(readiness),
        FlagMessage: responseSchema(flagMessage),
        VerdictMessage: responseSchema(verdictMessage),
      },
    },
  };
}
