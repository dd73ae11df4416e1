import type { Role } from '../../src/engine/engine-messages.js';
import { ACTIONS } from '../../src/guard/guard.js';
import { METHODS } from '../../src/uncertainty/method-names.js';
import { PROVIDERS } from '../answers/served-model.js';
import { WEBHOOK_EVENTS } from '../config/webhooks-section.js';
import { ERROR_CODES } from '../errors/codes.js';
import { COMMAND_FAILURES } from '../state/state.js';
import { DROP_REASONS } from '../tracing/span-queue.js';
import { UPSTREAM_ERROR_CODES } from '../upstream/upstream-error.js';
import { DELIVERIES } from '../webhooks/delivery.js';
import { ADMISSION_REFUSALS } from './admission.js';
import type { Families } from './metric-families.js';

/** The label that most have. */
const MODEL = 'a name of `models` in the configuration';
const BY_MODEL = { model: MODEL };
const BY_METHOD = { model: MODEL, method: METHODS };
const BY_ACTION = { model: MODEL, action: ACTIONS };
const PROCESSES = ['decode', 'score'] satisfies Role[];
const SERVER = { model: MODEL, address: 'an address of `scorer_url`' };
/** Buckets of risks: most risks say little, and thresholds are near 1. */
const RISK_BUCKETS = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1];

/**
 * How generations end; `cancelled`: from outside, also by a client that left and by a shutdown; `other`: for a reason
 * that an upstream alone knows.
 */
export const OUTCOMES = [
  'stop',
  'length',
  'content_filter',
  'tool_calls',
  'other',
  'cancelled',
  'error',
] as const;
export const ROLLBACK_OUTCOMES = ['replaced', 'kept'] as const;
export const VERDICTS_FLAGGED = ['true', 'false', 'unknown'] as const;
export const ESCALATIONS = ['answered', 'failed'] as const;
export const ACCEPTED = ['accepted', 'refused'] as const;
export const CONNECTIONS = ['http', 'websocket'] as const;
export const RESUMES = ['recovered', 'lost'] as const;
export const VERBS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'other'] as const;
export const ROUTES = [
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

export const OPERATION = 'chat';
const GEN_AI_LABELS = {
  gen_ai_operation_name: [OPERATION],
  gen_ai_provider_name: PROVIDERS,
  gen_ai_request_model: MODEL,
};

/**
 * All metrics of the gateway by their subject, Node's own apart. Those of whole generations have names, labels and
 * buckets of OpenTelemetry's semantic conventions for generative AI, as Prometheus writes them:
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/
 */
export const instrumentsOf = ({ counter, gauge, histogram }: Families) => ({
  generations: {
    requestDuration: histogram({
      name: 'gen_ai_server_request_duration_seconds',
      help: 'Seconds from the admission of a generation to its last event, or to its failure (the code is in error_type). Includes waiting for clients that do not read. Excludes cancelled generations.',
      labels: { ...GEN_AI_LABELS, error_type: ERROR_CODES },
      buckets: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
      exemplars: true,
    }),
    timeToFirstToken: histogram({
      name: 'gen_ai_server_time_to_first_token_seconds',
      help: 'Seconds from the admission of a generation to the first token sent to the client; with held delivery, to the release of the first step. Answers that are not streamed are measured as if they were. Includes generations that later fail or are cancelled.',
      labels: GEN_AI_LABELS,
      buckets: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
      exemplars: true,
    }),
    timePerOutputToken: histogram({
      name: 'gen_ai_server_time_per_output_token_seconds',
      help: 'Seconds per token after the first: from the writing of the first token, held back or not, to the end of the text. One value for each complete response of at least two tokens.',
      labels: GEN_AI_LABELS,
      buckets: [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
      exemplars: true,
    }),
    tokenUsage: histogram({
      name: 'gen_ai_client_token_usage',
      help: 'Tokens of the prompt (input) and of the final response (output), as in its usage. One value of each for each complete response, unless an upstream does not say.',
      labels: { ...GEN_AI_LABELS, gen_ai_token_type: ['input', 'output'] },
      buckets: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
    }),
    generations: counter({
      name: 'flinch_generations_total',
      help: 'Admitted generations that have ended, by outcome: their finish_reason (other for one that only the upstream knows), cancelled (also if the client left or the gateway shut down), or error.',
      labels: { model: MODEL, outcome: OUTCOMES },
    }),
    generatedTokens: counter({
      name: 'flinch_generated_tokens_total',
      help: 'Tokens written for complete responses, including candidates and retracted tokens. The excess over gen_ai_client_token_usage is the cost of interventions.',
      labels: BY_MODEL,
    }),
  },
  scores: {
    tokenScore: histogram({
      name: 'flinch_token_score',
      help: 'Scores of tokens under the streaming schedule; higher means less certain. The unit depends on the method (docs/guard.md).',
      labels: BY_METHOD,
      buckets: [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    }),
    tokenRisk: histogram({
      name: 'flinch_token_risk',
      help: 'Risks of tokens: the share of ordinary tokens that score lower, from 0 to 1. Excludes tokens that cannot be rated yet.',
      labels: BY_METHOD,
      buckets: RISK_BUCKETS,
    }),
    scoredTokens: counter({
      name: 'flinch_scored_tokens_total',
      help: 'Tokens of the model with a score of at least one method. Tokens that are retracted and rewritten count again, also with held delivery.',
      labels: BY_MODEL,
    }),
    lagSkippedTokens: counter({
      name: 'flinch_lag_skipped_tokens_total',
      help: 'Tokens that were not scored because scoring was slower than writing (guard.lag: skip). They are in no other metric of scores.',
      labels: BY_MODEL,
    }),
    unscoredTokens: counter({
      name: 'flinch_unscored_tokens_total',
      help: 'Tokens for which a method cannot be computed, because their log-probability is unknown.',
      labels: BY_METHOD,
    }),
    rivals: counter({
      name: 'flinch_rivals_total',
      help: 'Tokens with a likely rival: the other token that gains most under the perturbation of Adv. Pert. had a probability of at least 0.1 before it. A share of flinch_token_score_count{method="adversarial"}.',
      labels: BY_MODEL,
    }),
    lagTokens: histogram({
      name: 'flinch_scoring_lag_tokens',
      help: 'Tokens sent to the client between a token and the score that judges. Only for immediate delivery; with held delivery, tokens wait for their scores. Excludes flinch_lag_skipped_tokens_total.',
      labels: BY_MODEL,
      buckets: [0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 512],
    }),
    lagSeconds: histogram({
      name: 'flinch_scoring_lag_seconds',
      help: 'Seconds from sending a token to the client to sending the score that judges. Only for immediate delivery.',
      labels: BY_MODEL,
      buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30],
    }),
  },
  guard: {
    stepRisk: histogram({
      name: 'flinch_step_risk',
      help: 'Risks of the steps in flinch_steps_total: the share of ordinary steps that score lower, from 0 to 1. Excludes steps that cannot be rated yet.',
      labels: BY_ACTION,
      buckets: RISK_BUCKETS,
      exemplars: true,
    }),
    calibrationDrift: gauge({
      name: 'flinch_calibration_drift',
      help: 'How far the scores of answers have moved from those of the calibration: while they have not, at least c answers pass on average before this exceeds c. Of answers that are scored whole, with action annotate, by the method of the guard. Absent without a calibration.',
      labels: BY_METHOD,
      aggregator: 'max',
    }),
    steps: counter({
      name: 'flinch_steps_total',
      help: "Judged steps, by the guard's configured action. Includes steps that were then replaced or stopped at; excludes rejected candidates.",
      labels: BY_ACTION,
    }),
    flaggedSteps: counter({
      name: 'flinch_flagged_steps_total',
      help: "Flagged steps among flinch_steps_total, by the guard's configured action. Includes replacements that are flagged again. The actions taken are in flinch_stops_total and flinch_rollbacks_total.",
      labels: BY_ACTION,
    }),
    stops: counter({
      name: 'flinch_stops_total',
      help: 'Responses that the guard stopped at a flagged step.',
      labels: BY_MODEL,
    }),
    rollbacks: counter({
      name: 'flinch_rollbacks_total',
      help: 'Flagged steps for which other continuations were sampled, by whether one of them replaced the step (replaced) or not (kept).',
      labels: { model: MODEL, outcome: ROLLBACK_OUTCOMES },
    }),
    retractedTokens: counter({
      name: 'flinch_retracted_tokens_total',
      help: 'Tokens that were sent to the client and then retracted; none with held delivery.',
      labels: BY_MODEL,
    }),
    stepHold: histogram({
      name: 'flinch_step_hold_seconds',
      help: 'Seconds that a step was held back, from the writing of its first token to its release.',
      labels: BY_MODEL,
      buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60],
    }),
    verdicts: counter({
      name: 'flinch_verdicts_total',
      help: 'Verdicts on complete responses, by whether the response was flagged; unknown if it was not scored as a whole. Excludes responses without a guard.',
      labels: { model: MODEL, flagged: VERDICTS_FLAGGED },
    }),
    escalations: counter({
      name: 'flinch_escalations_total',
      help: "Answers of a model in place of which another one was asked: it `answered`, or `failed`, and the first answer stayed. Tokens of both are in the models' own metrics.",
      labels: { model: MODEL, outcome: ESCALATIONS },
    }),
    votes: counter({
      name: 'flinch_votes_total',
      help: 'Answers of a model for which further ones were drawn: another one was returned (`replaced`), or the first one (`kept`). Tokens of all are in `flinch_generated_tokens_total`.',
      labels: { model: MODEL, outcome: ['replaced', 'kept'] },
    }),
  },
  policies: {
    policyRequests: counter({
      name: 'flinch_policy_requests_total',
      help: 'Requests for a generation by the policy in force, and whether the policy accepted or refused the guard of the request. An accepted request may still be refused for another reason.',
      labels: {
        policy: 'the name of a policy of the configuration (`guard`), or `none`',
        result: ACCEPTED,
      },
    }),
  },
  calibration: {
    calibrationAnswers: gauge({
      name: 'flinch_calibration_answers',
      help: 'Answers of the calibration that `flinch serve --calibrate` collects while no request runs: those collected so far, and how many it will be of. Absent for models that need none.',
      labels: { model: MODEL, count: ['collected', 'planned'] },
    }),
  },
  engine: {
    passDuration: histogram({
      name: 'flinch_score_pass_duration_seconds',
      help: 'Seconds from the request of a score pass, or of a sample of perturbed copies, to its result, including waiting in the process. Excludes failed passes.',
      labels: BY_MODEL,
      buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30],
    }),
    queueDepth: gauge({
      name: 'flinch_queue_depth',
      help: 'Sequences that wait for a result of the process (decode: a token, score: a pass), including those in progress.',
      labels: { model: MODEL, process: PROCESSES },
    }),
    restarts: counter({
      name: 'flinch_engine_restarts_total',
      help: 'Restarts of an engine process after it died, stalled or failed to start.',
      labels: { model: MODEL, process: PROCESSES },
      aggregator: 'max', // each worker counts those of the processes that all use
    }),
    engineUp: gauge({
      name: 'flinch_engine_up',
      help: '1 while the process runs and has opened its model, otherwise 0.',
      labels: { model: MODEL, process: PROCESSES },
      aggregator: 'max',
    }),
  },
  servers: {
    serverUp: gauge({
      name: 'flinch_scorer_server_up',
      help: '1 while the inference server is asked for score passes, otherwise 0: it failed three times in a row, or the check at the start.',
      labels: SERVER,
      aggregator: 'max',
    }),
    serverSequences: gauge({
      name: 'flinch_scorer_server_sequences',
      help: 'Sequences whose keys and values the inference server holds for this gateway.',
      labels: SERVER,
      aggregator: 'max',
    }),
    serverRuns: counter({
      name: 'flinch_scorer_server_runs_total',
      help: 'Requests for a run of a model, by the inference server that was asked. Includes failures, and the last request of each sequence, which ends it.',
      labels: SERVER,
      aggregator: 'max',
    }),
    serverFailures: counter({
      name: 'flinch_scorer_server_failures_total',
      help: 'Runs without a usable answer: connection, time limit, status, or wrong content. Each is tried once more, which may succeed.',
      labels: SERVER,
      aggregator: 'max',
    }),
    serverSeconds: counter({
      name: 'flinch_scorer_server_run_seconds_total',
      help: 'Sum of the seconds from the request of each run to its answer or failure, including transfer and waiting at the server.',
      labels: SERVER,
      aggregator: 'max',
    }),
    sequencesLost: counter({
      name: 'flinch_scorer_server_sequences_lost_total',
      help: 'Sequences that the inference server failed or did not hold any more. Their text was sent again from its beginning.',
      labels: SERVER,
      aggregator: 'max',
    }),
  },
  upstreams: {
    upstreamErrors: counter({
      name: 'flinch_upstream_errors_total',
      help: "Faults of a model's servers, by the code that a client would see. Includes faults hidden by a retry.",
      labels: { model: MODEL, kind: UPSTREAM_ERROR_CODES },
    }),
    upstreamUp: gauge({
      name: 'flinch_upstream_up',
      help: "1 if at least one of the model's servers has answered and has been available since, otherwise 0. When this metric or the readiness is read, servers that were not heard from for 30 s are asked for their list of models.",
      labels: BY_MODEL,
      aggregator: 'max',
    }),
    scorerMismatches: counter({
      name: 'flinch_scorer_mismatches_total',
      help: "Responses whose scorer disagreed with the server's log-probabilities; its weights are probably different.",
      labels: BY_MODEL,
    }),
  },
  http: {
    requestDuration: histogram({
      name: 'flinch_http_request_duration_seconds',
      help: "Seconds from the headers of an HTTP request to the end of its response; for streams, including the time of reading. The route is a template; `page` stands for the page's files. Status `aborted`: the client left before a response began.",
      labels: { method: VERBS, route: ROUTES, status: STATUSES },
      // The range is from an answer out of memory to a long stream.
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30, 120, 600],
    }),
    refused: counter({
      name: 'flinch_refused_requests_total',
      help: 'Error responses to requests, handshakes and messages, by code. Errors in a running stream are counted in flinch_generations_total.',
      labels: { code: ERROR_CODES },
    }),
    admission: counter({
      name: 'flinch_admission_refusals_total',
      help: 'Refusals among flinch_refused_requests_total that rejected a generation, by model. Excludes requests refused before they were read.',
      labels: { model: MODEL, reason: ADMISSION_REFUSALS },
    }),
    activeGenerations: gauge({
      name: 'flinch_active_generations',
      help: 'Generations that are running or being admitted.',
      labels: {},
    }),
    connections: gauge({
      name: 'flinch_connections',
      help: 'Open connections; a WebSocket counts for both kinds.',
      labels: { kind: CONNECTIONS },
    }),
    resumed: counter({
      name: 'flinch_resumes_total',
      help: 'Requests to resume a generation, over WebSocket or Server-Sent Events, by whether all following events were still available.',
      labels: { outcome: RESUMES },
    }),
  },
  redis: {
    redisUp: gauge({
      name: 'flinch_redis_up',
      help: '1 while the Redis of `state` answers, otherwise 0. Absent without `state`.',
      labels: {},
      aggregator: 'min',
    }),
    redisDuration: histogram({
      name: 'flinch_redis_command_duration_seconds',
      help: 'Seconds from sending a command to its answer. Includes commands that fail; one without an answer counts as 1 s. Excludes commands that wait for events on purpose.',
      labels: {},
      buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    }),
    redisFailures: counter({
      name: 'flinch_redis_command_failures_total',
      help: 'Commands that failed: no answer within 1 s (timeout), no connection or a Redis that is known to be away (connection), or an error as answer, such as OOM (refused).',
      labels: { reason: COMMAND_FAILURES },
    }),
  },
  telemetry: {
    spansDropped: counter({
      name: 'flinch_trace_spans_dropped_total',
      help: 'Spans that did not reach the OpenTelemetry collector: the queue was full, or the collector could not be reached, did not answer in time or refused them.',
      labels: { reason: DROP_REASONS },
    }),
    contextsIgnored: counter({
      name: 'flinch_trace_contexts_ignored_total',
      help: 'Requests and handshakes whose `traceparent` or `tracestate` was ignored because it was too long or malformed.',
      labels: {},
    }),
    webhookMessages: counter({
      name: 'flinch_webhook_messages_total',
      help: 'Messages to webhooks that are over: `delivered` to a receiver that answered 2xx, `failed` after the last try, or `dropped` because 1000 were waiting or the gateway ended.',
      labels: {
        webhook: 'the place of the receiver in `webhooks`, from 0',
        event: WEBHOOK_EVENTS,
        outcome: DELIVERIES,
      },
    }),
  },
  reloads: {
    reloads: counter({
      name: 'flinch_config_reloads_total',
      help: 'Times that the configuration was read again, by whether its keys and policies were taken over or the file was refused.',
      labels: { result: ACCEPTED },
    }),
    lastReload: gauge({
      name: 'flinch_config_last_reload_successful',
      help: '0 if the configuration was refused when it was last read again: the one before is in force. Otherwise 1.',
      labels: {},
      aggregator: 'min',
    }),
  },
  process: {
    buildInfo: gauge({
      name: 'flinch_build_info',
      help: 'Always 1; the label is the version of flinch.',
      labels: { version: 'the package version' },
      aggregator: 'max',
    }),
    logLinesDropped: counter({
      name: 'flinch_log_lines_dropped_total',
      help: 'Lines of the log that were lost because they could not be written, for example to a full disk.',
      labels: {},
    }),
  },
});

export type Instruments = ReturnType<typeof instrumentsOf>;
