import { type MonoTypeOperatorFunction, tap } from 'rxjs';
import type { GuardEvent } from '../../src/stream/events.js';
import { toApiError } from '../errors/api-error.js';
import type { ErrorCode } from '../errors/codes.js';
import type { GenerationListener, Listen } from '../models/generation-listener.js';
import { Models } from '../models/models.js';
import type { Prepared, PrepareOptions, ServedModel } from '../models/served-model.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { isRefusal } from './admission.js';
import { type Clock, GenerationObserver, type Observed } from './generation-observer.js';
import type { Metrics } from './metrics.js';

const CLOCK: Clock = { now: () => performance.now(), date: () => Date.now() };

/**
 * The same models, observed; they must be watched by the metrics.
 * @param listen told of each generation, too
 */
export function metered(
  models: Models,
  metrics: Metrics,
  listen: readonly Listen[] = [],
  clock: Clock = CLOCK,
): Models {
  return new Models(models.all.map((model) => new MeteredModel(model, metrics, listen, clock)));
}

class MeteredModel implements ServedModel {
  readonly name: string;
  readonly #model: ServedModel;
  readonly #metrics: Metrics;
  readonly #listen: readonly Listen[];
  readonly #clock: Clock;

  constructor(model: ServedModel, metrics: Metrics, listen: readonly Listen[], clock: Clock) {
    this.name = model.name;
    this.#model = model;
    this.#metrics = metrics;
    this.#listen = listen;
    this.#clock = clock;
  }

  get inside() {
    return this.#model.inside;
  }

  get forwards() {
    return this.#model.forwards;
  }

  get hosts() {
    return this.#model.hosts;
  }

  get about() {
    return this.#model.about;
  }

  status() {
    return this.#model.status();
  }

  async prepare(request: GenerationFields, options: PrepareOptions): Promise<Prepared> {
    const series = this.#metrics.of(this.name);
    const began = { responseId: options.responseId ?? '', beganMs: this.#clock.now() };
    const failed = (error: unknown): void => this.#metrics.failed(error);
    const { tell, trace } = this.#listener(request, options, failed);
    const observerOf = ({ action, held, scored }: Pick<Observed, 'action' | 'held' | 'scored'>) =>
      new GenerationObserver(series, { ...began, action, held, scored }, this.#clock, tell);
    const refused = (code: ErrorCode): void => tell({ type: 'refused', code });
    let observer: GenerationObserver | null = null;
    const written = (event: GuardEvent): void => attempt(() => observer?.written(event), failed);
    try {
      const prepared = await this.#model.prepare(request, {
        ...{ ...options, written },
        ...(trace && { trace }),
      });
      const { action, delivery, enabled } = prepared.guard;
      const held = enabled && delivery === 'held';
      return {
        ...prepared,
        start: (gate) => {
          const own = observerOf({ action, held, scored: enabled });
          if (held) observer = own; // of others it hears all there is
          const told = (code: ErrorCode): void => {
            refused(code);
            options.refused?.(code);
          };
          return prepared.start(gate).pipe(observed(own, { failed, refused: told }));
        },
      };
    } catch (error) {
      const apiError = toApiError(error);
      if (isRefusal(apiError)) refused(apiError.body.code);
      else
        attempt(
          () => observerOf({ action: 'annotate', held: false, scored: false }).failed(apiError.body.code),
          failed,
        );
      throw error;
    }
  }

  /** All that listen, none of which is a generation's concern. */
  #listener(
    request: GenerationFields,
    options: PrepareOptions,
    failed: (error: unknown) => void,
  ): GenerationListener {
    const provider = this.#model.inside?.provider ?? 'flinch';
    const about = { model: this.name, provider, responseId: options.responseId ?? '', request, options };
    const listeners: GenerationListener[] = [];
    for (const listen of this.#listen) attempt(() => listeners.push(listen(about)), failed);
    const trace = listeners.find((each) => each.trace)?.trace;
    return {
      ...(trace && { trace }),
      tell: (news) => {
        for (const { tell } of listeners) attempt(() => tell(news), failed);
      },
    };
  }
}

interface ObservedOptions {
  /** Told of what an observer throws: the generation goes on. */
  readonly failed: (error: unknown) => void;
  readonly refused?: ((code: ErrorCode) => void) | undefined;
}

/** Tells an observer of a generation; one that is refused before it has begun is none, and is told to `refused`. */
export function observed(
  observer: GenerationObserver,
  { failed, refused }: ObservedOptions,
): MonoTypeOperatorFunction<GuardEvent> {
  return tap({
    next: (event) => attempt(() => observer.event(event), failed),
    error: (error: unknown) => {
      const apiError = toApiError(error);
      if (observer.begun || !isRefusal(apiError)) attempt(() => observer.failed(apiError.body.code), failed);
      else refused?.(apiError.body.code);
    },
    unsubscribe: () => attempt(() => observer.cancelled(), failed),
  });
}

function attempt(measure: () => void, failed: (error: unknown) => void): void {
  try {
    measure();
  } catch (error) {
    failed(error);
  }
}
