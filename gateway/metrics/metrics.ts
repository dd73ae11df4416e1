import { type Logger, pino } from 'pino';
import { packageVersion } from '../../src/package-root.js';
import type { Models } from '../answers/models.js';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../config/webhooks-section.js';
import { ERROR_CODES, type ErrorCode } from '../errors/codes.js';
import { COMMAND_FAILURES, type CommandFailure } from '../state/state.js';
import { DROP_REASONS, type DropReason } from '../tracing/span-queue.js';
import { UPSTREAM_ERROR_CODES, type UpstreamErrorCode } from '../upstream/upstream-error.js';
import { DELIVERIES, type DeliveryOutcome } from '../webhooks/delivery.js';
import { ADMISSION_REFUSALS } from './admission.js';
import { combined } from './combine.js';
import { watchEngine } from './engine-metrics.js';
import { exposition, FORMATS, type Format } from './exposition.js';
import { GenerationSeries } from './generation-metrics.js';
import type { ModelSeries } from './generation-observer.js';
import { GuardSeries } from './guard-metrics.js';
import type { HistogramSeries } from './histogram.js';
import { ACCEPTED, CONNECTIONS, ESCALATIONS, instrumentsOf, RESUMES, ROUTES, VERBS } from './instruments.js';
import { Families, familiesOf, type MetricsSnapshot } from './metric-families.js';
import { processMetrics } from './process-metrics.js';

export interface MetricsSources {
  readonly models: Models;
  readonly logger?: Logger;
  /** Values that are read when the metrics are requested. */
  readonly generations: () => number;
  readonly connections: () => Readonly<Record<(typeof CONNECTIONS)[number], number>>;
}

export interface ObservedRequest {
  readonly method: string;
  /** The template that fits, such as `/v1/models/*name`, never the path itself. */
  readonly route: string;
  /** `null` where the client left before there was one. */
  readonly status: number | null;
  readonly seconds: number;
}

/** Label of requests without a policy. */
const NO_POLICY = 'none';

/**
 * Metrics of the gateway (docs/reference/metrics.md). Every label is from a closed set: no client can make a new one,
 * nor have its words in one.
 */
export class Metrics {
  readonly #families = new Families((error) => this.failed(error));
  readonly #instruments = instrumentsOf(this.#families);
  readonly #models = new Map<string, ModelSeries>();
  #logger = pino({ level: 'silent' });
  #hasFailed = false;
  #collect: (() => Promise<readonly MetricsSnapshot[]>) | null = null;

  #redisDuration: HistogramSeries | null = null;

  /** Shows series from the start that alerts need: one that first appears as 1 has no rate. */
  constructor() {
    const { http, redis, telemetry, reloads, process } = this.#instruments;
    process.buildInfo.set({ version: packageVersion() }, 1);
    redis.redisUp.remove(); // without labels it would be 0 from the start
    reloads.lastReload.set(1);
    for (const result of ACCEPTED) reloads.reloads.inc({ result }, 0);
    for (const reason of DROP_REASONS) telemetry.spansDropped.inc({ reason }, 0);
    for (const outcome of RESUMES) http.resumed.inc({ outcome }, 0);
    for (const code of ERROR_CODES) http.refused.inc({ code }, 0);
    for (const status of ['2xx', '4xx', '5xx', 'aborted'])
      http.requestDuration.series({ method: 'POST', route: '/v1/chat/completions', status });
    this.watchPolicies([]);
    this.#watchAdmission('');
  }

  /**
   * Reads the work under way in a gateway whenever the metrics are requested; called by the gateway, once.
   * @returns a function that removes our listeners from models, which may outlive the gateway
   */
  watch({ models, logger, generations, connections }: MetricsSources): () => void {
    const stops: (() => void)[] = [];
    const instruments = this.#instruments;
    const { http, upstreams } = instruments;
    if (logger) this.#logger = logger;
    this.#families.beforeRead(() => {
      http.activeGenerations.set(generations());
      const open = connections();
      for (const kind of CONNECTIONS) http.connections.set({ kind }, open[kind]);
    });
    for (const { name: model, inside } of models.all) {
      this.#watchAdmission(model);
      this.#models.set(model, {
        generations: new GenerationSeries(instruments.generations, model, inside?.provider ?? 'flinch'),
        guard: new GuardSeries(instruments, model),
      });
      if (inside?.engine) stops.push(watchEngine(instruments, this.#families, model, inside.engine));
      const { upstream } = inside ?? {};
      if (!upstream) continue;
      for (const kind of UPSTREAM_ERROR_CODES) upstreams.upstreamErrors.inc({ model, kind }, 0);
      upstreams.scorerMismatches.inc({ model }, 0);
      this.#families.beforeRead(() => {
        upstreams.upstreamUp.set({ model }, upstream.up() ? 1 : 0);
        upstream.look(); // otherwise metrics would never show a server go, or come back, without requests
      });
    }
    return () => {
      for (const stop of stops) stop();
    };
  }

  #watchAdmission(model: string): void {
    for (const reason of ADMISSION_REFUSALS) this.#instruments.http.admission.inc({ model, reason }, 0);
  }

  /** Makes {@link text} report the sum over all these processes, of which this is one. */
  collectFrom(collect: () => Promise<readonly MetricsSnapshot[]>): void {
    this.#collect = collect;
  }

  /** Counts of this process, for {@link collectFrom} of another. */
  snapshot(): Promise<MetricsSnapshot> {
    return this.#families.snapshot(processMetrics());
  }

  /** Series of a model that is watched. */
  of(model: string): ModelSeries {
    const series = this.#models.get(model);
    if (!series) throw new RangeError(`metrics: the model ${model} is not watched`);
    return series;
  }

  request({ method, route, status, seconds }: ObservedRequest): void {
    const labels = {
      method: oneOf(VERBS, method),
      route: oneOf(ROUTES, route),
      status: status === null ? 'aborted' : `${Math.floor(status / 100)}xx`,
    };
    this.#instruments.http.requestDuration.series(labels).observe(seconds);
  }

  /** @param model requested model, if it was read; a model that is not served counts as none */
  refused(code: ErrorCode, model = ''): void {
    const { refused, admission } = this.#instruments.http;
    refused.inc({ code });
    const reason = ADMISSION_REFUSALS.find((each) => each === code);
    if (reason) admission.inc({ model: this.#models.has(model) ? model : '', reason });
  }

  /** @param names names of policies that may be in force */
  watchPolicies(names: readonly string[]): void {
    const { policyRequests } = this.#instruments.policies;
    for (const policy of [NO_POLICY, ...names])
      for (const result of ACCEPTED) policyRequests.inc({ policy, result }, 0);
  }

  /** @param accepted whether the request keeps to the policy */
  policy(name: string | null, accepted: boolean): void {
    const result = accepted ? 'accepted' : 'refused';
    this.#instruments.policies.policyRequests.inc({ policy: name ?? NO_POLICY, result });
  }

  /** @param accepted whether the configuration that was read again is in force; with workers, the first process counts */
  reloaded(accepted: boolean): void {
    const { reloads, lastReload } = this.#instruments.reloads;
    reloads.inc({ result: accepted ? 'accepted' : 'refused' });
    lastReload.set(accepted ? 1 : 0);
  }

  /** @param models those that name another one to answer in place of a flagged answer */
  watchEscalations(models: readonly string[]): void {
    for (const model of models)
      for (const outcome of ESCALATIONS) this.#instruments.guard.escalations.inc({ model, outcome }, 0);
  }

  /** @param answered whether the other model answers */
  escalated(model: string, answered: boolean): void {
    this.#instruments.guard.escalations.inc({ model, outcome: answered ? 'answered' : 'failed' });
  }

  /** @param replaced whether another answer than the flagged one is returned */
  voted(model: string, replaced: boolean): void {
    this.#instruments.guard.votes.inc({ model, outcome: replaced ? 'replaced' : 'kept' });
  }

  /** @param planned answers that the calibration of the model will be of */
  calibrating(model: string, collected: number, planned: number): void {
    const { calibrationAnswers } = this.#instruments.calibration;
    calibrationAnswers.set({ model, count: 'collected' }, collected);
    calibrationAnswers.set({ model, count: 'planned' }, planned);
  }

  resumed(recovered: boolean): void {
    this.#instruments.http.resumed.inc({ outcome: recovered ? 'recovered' : 'lost' });
  }

  /** @param model name of the model in the configuration, as below */
  upstreamError(model: string, kind: UpstreamErrorCode): void {
    this.#instruments.upstreams.upstreamErrors.inc({ model, kind });
  }

  scorerMismatch(model: string): void {
    this.#instruments.upstreams.scorerMismatches.inc({ model });
  }

  /** @param ignored whether the trace context of a request was too long or malformed */
  traceContext(ignored: boolean): void {
    if (ignored) this.#instruments.telemetry.contextsIgnored.inc();
  }

  spansDropped(reason: DropReason, spans: number): void {
    this.#instruments.telemetry.spansDropped.inc({ reason }, spans);
  }

  /** @param webhook index of the webhook in the configuration */
  watchWebhook(webhook: number): void {
    for (const event of WEBHOOK_EVENTS)
      for (const outcome of DELIVERIES) this.webhook(webhook, event, outcome, 0);
  }

  webhook(webhook: number, event: WebhookEvent, outcome: DeliveryOutcome, messages = 1): void {
    this.#instruments.telemetry.webhookMessages.inc({ webhook: String(webhook), event, outcome }, messages);
  }

  /** Reports metrics of Redis from now on. */
  watchRedis(up: () => boolean): void {
    const { redisUp, redisDuration, redisFailures } = this.#instruments.redis;
    this.#families.beforeRead(() => redisUp.set(up() ? 1 : 0));
    this.#redisDuration = redisDuration.series({});
    for (const reason of COMMAND_FAILURES) redisFailures.inc({ reason }, 0);
  }

  /** @param seconds `null` for one that was not sent */
  redisCommand(seconds: number | null, failure: CommandFailure | null): void {
    if (seconds !== null) this.#redisDuration?.observe(seconds);
    if (failure !== null) this.#instruments.redis.redisFailures.inc({ reason: failure });
  }

  logDropped(lines: number): void {
    this.#instruments.process.logLinesDropped.inc(lines);
  }

  /**
   * Call this with a fault in measuring, which must not become a fault of the measured work. The first is logged:
   * more may come with every token.
   */
  failed(error: unknown): void {
    if (!this.#hasFailed) this.#logger.error({ err: error }, 'metrics are not complete');
    this.#hasFailed = true;
  }

  /** Everything, with Node's metrics of the process. */
  async text(format: Format = 'classic'): Promise<string> {
    if (this.#collect) return exposition(await combined(await this.#collect()), format);
    const families = [await familiesOf(processMetrics()), await this.#families.read()];
    return exposition(families.flat(), format);
  }

  contentType(format: Format): string {
    return `${FORMATS[format]}; charset=utf-8`;
  }
}

const oneOf = (known: readonly string[], text: string): string => (known.includes(text) ? text : 'other');
