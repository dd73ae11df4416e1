import { type MonoTypeOperatorFunction, tap } from 'rxjs';
import { DEFAULT_GUARD, replacesAnswers } from '../../src/guard/guard.js';
import type { GuardEvent } from '../../src/stream/events.js';
import { toApiError } from '../errors/api-error.js';
import type { ErrorCode } from '../errors/codes.js';
import type { GenerationAbout, GenerationListener, Listen } from '../models/generation-listener.js';
import type { Models } from '../models/models.js';
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
  const failed = (error: unknown): void => metrics.failed(error);
  return models.preparedBy(async (model, request, options) => {
    const series = metrics.of(model.name);
    const { responseId = '', further = false } = options.from ?? {};
    const began = { responseId, beganMs: clock.now() };
    const provider = model.inside?.provider ?? 'flinch';
    const about = { model: model.name, provider, responseId, request, options };
    const { tell, trace } = listenerOf(listen, about, failed);
    const observerOf = (guard: Omit<Observed, 'responseId' | 'beganMs'>) =>
      new GenerationObserver(series, { ...began, ...guard }, clock, tell);
    const refused = (code: ErrorCode): void => tell({ type: 'refused', code });
    let observer: GenerationObserver | null = null;
    const written = (event: GuardEvent): void => attempt(() => observer?.written(event), failed);
    try {
      const prepared = await model.prepare(request, {
        ...options,
        from: { ...options.from, ...(trace && { trace }) },
        listeners: { ...options.listeners, written },
      });
      const { method, delivery, enabled, action: set } = prepared.guard;
      const action = replacesAnswers(set) ? 'annotate' : set; // steps are only marked
      const held = enabled && delivery === 'held';
      return {
        ...prepared,
        start: (gate) => {
          const own = observerOf({ method, action, held, scored: enabled, further });
          if (held) observer = own; // for other answers it sees all events anyway
          const onRefused = (code: ErrorCode): void => {
            refused(code);
            options.listeners?.refused?.(code);
          };
          return prepared.start(gate).pipe(observed(own, { failed, refused: onRefused }));
        },
      };
    } catch (error) {
      const apiError = toApiError(error);
      if (isRefusal(apiError)) refused(apiError.body.code);
      else attempt(() => observerOf(UNGUARDED).failed(apiError.body.code), failed);
      throw error;
    }
  });
}

/** A request that no guard was found for. */
const UNGUARDED = { method: DEFAULT_GUARD.method, action: 'annotate', held: false, scored: false } as const;

/** All that listen, none of which is a generation's concern. */
function listenerOf(
  listen: readonly Listen[],
  about: GenerationAbout,
  failed: (error: unknown) => void,
): GenerationListener {
  const listeners: GenerationListener[] = [];
  for (const each of listen) attempt(() => listeners.push(each(about)), failed);
  const trace = listeners.find((each) => each.trace)?.trace;
  return {
    ...(trace && { trace }),
    tell: (news) => {
      for (const { tell } of listeners) attempt(() => tell(news), failed);
    },
  };
}

interface ObservedOptions {
  /** Called with an error that an observer throws: the generation goes on. */
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
      if (observer.hasStarted || !isRefusal(apiError))
        attempt(() => observer.failed(apiError.body.code), failed);
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
