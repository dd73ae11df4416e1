import type { Counter } from 'prom-client';
import type { DoneEvent, Usage } from '../../src/stream/events.js';
import { ERROR_CODES, type ErrorCode } from '../errors/codes.js';
import { PROVIDERS, type Provider } from '../models/served-model.js';
import { type Definition, type HistogramDefinition, MODEL } from './definition.js';
import type { Exemplar } from './exposition.js';
import type { Families } from './families.js';
import type { Histogram, HistogramSeries } from './histogram.js';

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
export type Outcome = (typeof OUTCOMES)[number];

const OPERATION = 'chat';

const GEN_AI_LABELS = {
  gen_ai_operation_name: [OPERATION],
  gen_ai_provider_name: PROVIDERS,
  gen_ai_request_model: MODEL,
} as const;

/**
 * Names, labels and buckets are those of OpenTelemetry's semantic conventions for generative AI, as Prometheus writes
 * them: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/
 */
export const REQUEST_DURATION = {
  name: 'gen_ai_server_request_duration_seconds',
  type: 'histogram',
  help: 'Seconds from the admission of a generation to its last event, or to its failure (the code is in error_type). Includes waiting for clients that do not read. Excludes cancelled generations.',
  labels: { ...GEN_AI_LABELS, error_type: ERROR_CODES },
  buckets: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  exemplars: true,
} as const satisfies HistogramDefinition;

export const TIME_TO_FIRST_TOKEN = {
  name: 'gen_ai_server_time_to_first_token_seconds',
  type: 'histogram',
  help: 'Seconds from the admission of a generation to the first token sent to the client; with held delivery, to the release of the first step. Answers that are not streamed are measured as if they were. Includes generations that later fail or are cancelled.',
  labels: GEN_AI_LABELS,
  buckets: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  exemplars: true,
} as const satisfies HistogramDefinition;

export const TIME_PER_OUTPUT_TOKEN = {
  name: 'gen_ai_server_time_per_output_token_seconds',
  type: 'histogram',
  help: 'Seconds per token after the first: from the writing of the first token, held back or not, to the last event. One value for each complete response of at least two tokens.',
  labels: GEN_AI_LABELS,
  buckets: [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
  exemplars: true,
} as const satisfies HistogramDefinition;

export const TOKEN_USAGE = {
  name: 'gen_ai_client_token_usage',
  type: 'histogram',
  help: 'Tokens of the prompt (input) and of the final response (output), as in its usage. One value of each for each complete response, unless an upstream does not say.',
  labels: { ...GEN_AI_LABELS, gen_ai_token_type: ['input', 'output'] },
  buckets: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
} as const satisfies HistogramDefinition;

export const GENERATIONS = {
  name: 'flinch_generations_total',
  type: 'counter',
  help: 'Admitted generations that have ended, by outcome: their finish_reason (other for one that only the upstream knows), cancelled (also if the client left or the gateway shut down), or error.',
  labels: { model: MODEL, outcome: OUTCOMES },
} as const satisfies Definition;

export const GENERATED_TOKENS = {
  name: 'flinch_generated_tokens_total',
  type: 'counter',
  help: 'Tokens written for complete responses, including candidates and retracted tokens. The excess over gen_ai_client_token_usage is the cost of interventions.',
  labels: { model: MODEL },
} as const satisfies Definition;

/** Generations as a whole. */
export class GenerationMetrics {
  readonly durations: Histogram<keyof typeof REQUEST_DURATION.labels>;
  readonly firstTokens: Histogram<keyof typeof GEN_AI_LABELS>;
  readonly perToken: Histogram<keyof typeof GEN_AI_LABELS>;
  readonly usage: Histogram<keyof typeof TOKEN_USAGE.labels>;
  readonly generations: Counter<'model' | 'outcome'>;
  readonly tokens: Counter<'model'>;

  constructor(families: Families) {
    this.durations = families.histogram(REQUEST_DURATION);
    this.firstTokens = families.histogram(TIME_TO_FIRST_TOKEN);
    this.perToken = families.histogram(TIME_PER_OUTPUT_TOKEN);
    this.usage = families.histogram(TOKEN_USAGE);
    this.generations = families.counter(GENERATIONS);
    this.tokens = families.counter(GENERATED_TOKENS);
  }

  of(model: string, provider: Provider): GenerationSeries {
    return new GenerationSeries(this, model, provider);
  }
}

/** Series of one model. */
export class GenerationSeries {
  readonly #metrics: GenerationMetrics;
  readonly #model: string;
  readonly #labels: Readonly<Record<keyof typeof GEN_AI_LABELS, string>>;
  readonly #firstToken: HistogramSeries;
  readonly #perToken: HistogramSeries;
  readonly #input: HistogramSeries;
  readonly #output: HistogramSeries;

  constructor(metrics: GenerationMetrics, model: string, provider: Provider) {
    const labels = {
      gen_ai_operation_name: OPERATION,
      gen_ai_provider_name: provider,
      gen_ai_request_model: model,
    };
    this.#metrics = metrics;
    this.#model = model;
    this.#labels = labels;
    this.#firstToken = metrics.firstTokens.series(labels);
    this.#perToken = metrics.perToken.series(labels);
    this.#input = metrics.usage.series({ ...labels, gen_ai_token_type: 'input' });
    this.#output = metrics.usage.series({ ...labels, gen_ai_token_type: 'output' });
    metrics.durations.series({ ...labels, error_type: '' });
    for (const outcome of OUTCOMES) metrics.generations.inc({ model, outcome }, 0);
    metrics.tokens.inc({ model }, 0);
  }

  firstToken(seconds: number, exemplar: Exemplar): void {
    this.#firstToken.observe(seconds, exemplar);
  }

  perToken(seconds: number, exemplar: Exemplar): void {
    this.#perToken.observe(seconds, exemplar);
  }

  done({ finishReason, usage }: DoneEvent, seconds: number, exemplar: Exemplar): void {
    this.#end(OUTCOMES.find((outcome) => outcome === finishReason) ?? 'other');
    this.#metrics.durations.series({ ...this.#labels, error_type: '' }).observe(seconds, exemplar);
    this.#use(usage);
  }

  failed(code: ErrorCode, seconds: number, exemplar: Exemplar): void {
    this.#end('error');
    this.#metrics.durations.series({ ...this.#labels, error_type: code }).observe(seconds, exemplar);
  }

  cancelled(): void {
    this.#end('cancelled');
  }

  #end(outcome: Outcome): void {
    this.#metrics.generations.inc({ model: this.#model, outcome });
  }

  #use({ promptTokens, completionTokens, generatedTokens: all }: Usage): void {
    const generatedTokens = all ?? completionTokens;
    if (promptTokens !== null) this.#input.observe(promptTokens);
    if (completionTokens !== null) this.#output.observe(completionTokens);
    if (generatedTokens !== null) this.#metrics.tokens.inc({ model: this.#model }, generatedTokens);
  }
}
