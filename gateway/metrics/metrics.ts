import { type Logger, pino } from 'pino';
import type { ErrorCode } from '../errors/codes.js';
import type { Models } from '../models/models.js';
import type { CommandFailure } from '../state/state.js';
import type { UpstreamErrorCode } from '../upstream/errors.js';
import { CalibrationMetrics } from './calibration.js';
import { combined } from './combine.js';
import { ConnectionMetrics, type ConnectionSources } from './connections.js';
import { EngineMetrics } from './engine.js';
import { exposition, FORMATS, type Format } from './exposition.js';
import { Families, familiesOf, type MetricsSnapshot } from './families.js';
import type { ModelSeries } from './generation-observer.js';
import { GenerationMetrics } from './generations.js';
import { GuardMetrics } from './guard.js';
import { HttpMetrics, type ObservedRequest } from './http.js';
import { PolicyMetrics } from './policy.js';
import { buildInfo, LOG_LINES_DROPPED, processMetrics } from './process.js';
import { RedisMetrics } from './redis.js';
import { ReloadMetrics } from './reload.js';
import { ReplacedAnswerMetrics } from './replaced-answers.js';
import { type DeliveryOutcome, type DropReason, TelemetryMetrics, type WebhookEvent } from './telemetry.js';
import { UpstreamMetrics } from './upstream.js';

export interface MetricsSources extends ConnectionSources {
  readonly models: Models;
  readonly logger?: Logger;
}

/**
 * Metrics of the gateway (docs/reference/metrics.md). Every label is from a closed set: no client can make a new one,
 * nor have its words in one.
 */
export class Metrics {
  readonly #families = new Families((error) => this.failed(error));
  readonly #http = new HttpMetrics(this.#families);
  readonly #connections = new ConnectionMetrics(this.#families);
  readonly #generations = new GenerationMetrics(this.#families);
  readonly #guard = new GuardMetrics(this.#families);
  readonly #engine = new EngineMetrics(this.#families);
  readonly #upstream = new UpstreamMetrics(this.#families);
  readonly #calibration = new CalibrationMetrics(this.#families);
  readonly #replaced = new ReplacedAnswerMetrics(this.#families);
  readonly #policies = new PolicyMetrics(this.#families);
  readonly #reloads = new ReloadMetrics(this.#families);
  readonly #redis = new RedisMetrics(this.#families);
  readonly #telemetry = new TelemetryMetrics(this.#families);
  readonly #logLines = this.#families.counter(LOG_LINES_DROPPED);
  readonly #models = new Map<string, ModelSeries>();
  #logger = pino({ level: 'silent' });
  #hasFailed = false;
  #collect: (() => Promise<readonly MetricsSnapshot[]>) | null = null;

  constructor() {
    buildInfo(this.#families);
  }

  /**
   * Reads the work under way in a gateway whenever the metrics are requested; called by the gateway, once.
   * @returns a function that removes our listeners from models, which may outlive the gateway
   */
  watch({ models, logger, ...sources }: MetricsSources): () => void {
    const stops: (() => void)[] = [];
    if (logger) this.#logger = logger;
    this.#connections.watch(sources);
    for (const { name, inside } of models.all) {
      this.#http.watch(name);
      const generations = this.#generations.of(name, inside?.provider ?? 'flinch');
      this.#models.set(name, { generations, guard: this.#guard.of(name) });
      if (inside?.engine) stops.push(this.#engine.watch(name, inside.engine));
      if (inside?.upstream) this.#upstream.watch(name, inside.upstream);
    }
    return () => {
      for (const stop of stops) stop();
    };
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

  request(request: ObservedRequest): void {
    this.#http.request(request);
  }

  /** @param model requested model, if it was read */
  refused(code: ErrorCode, model?: string): void {
    this.#http.refused(code, model);
  }

  /** @param names names of policies that may be in force */
  watchPolicies(names: readonly string[]): void {
    this.#policies.watch(names);
  }

  /** @param accepted whether the request keeps to the policy */
  policy(name: string | null, accepted: boolean): void {
    this.#policies.request(name, accepted);
  }

  /** @param accepted whether the configuration that was read again is in force */
  reloaded(accepted: boolean): void {
    this.#reloads.reloaded(accepted);
  }

  /** @param models those that name another one to answer in place of a flagged answer */
  watchEscalations(models: readonly string[]): void {
    this.#replaced.watch(models);
  }

  /** @param answered whether the other model answers */
  escalated(model: string, answered: boolean): void {
    this.#replaced.escalated(model, answered ? 'answered' : 'failed');
  }

  /** @param replaced whether another answer than the flagged one is returned */
  voted(model: string, replaced: boolean): void {
    this.#replaced.voted(model, replaced ? 'replaced' : 'kept');
  }

  /** @param planned answers that the calibration of the model will be of */
  calibrating(model: string, collected: number, planned: number): void {
    this.#calibration.collected(model, collected, planned);
  }

  resumed(recovered: boolean): void {
    this.#connections.resumed(recovered);
  }

  /** @param model name of the model in the configuration, as below */
  upstreamError(model: string, kind: UpstreamErrorCode): void {
    this.#upstream.failed(model, kind);
  }

  /** @param ignored whether the trace context of a request was too long or malformed */
  traceContext(ignored: boolean): void {
    if (ignored) this.#telemetry.contextIgnored();
  }

  spansDropped(reason: DropReason, spans: number): void {
    this.#telemetry.spansDropped(reason, spans);
  }

  /** @param webhook index of the webhook in the configuration */
  watchWebhook(webhook: number): void {
    this.#telemetry.watchWebhook(webhook);
  }

  webhook(webhook: number, event: WebhookEvent, outcome: DeliveryOutcome): void {
    this.#telemetry.webhook(webhook, event, outcome);
  }

  /** Reports metrics of Redis from now on. */
  watchRedis(up: () => boolean): void {
    this.#redis.watch(up);
  }

  /** @param seconds `null` for one that was not sent */
  redisCommand(seconds: number | null, failure: CommandFailure | null): void {
    this.#redis.command(seconds, failure);
  }

  logDropped(lines: number): void {
    this.#logLines.inc(lines);
  }

  scorerMismatch(model: string): void {
    this.#upstream.scorerMismatch(model);
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
