import { DEFAULT_GUARD, replacesAnswers } from '../../src/guard/guard.js';
import type { GenerationAbout, GenerationListener, Listen } from '../answers/answer-news.js';
import type { Observe } from '../answers/observers.js';
import { toApiError } from '../errors/api-error.js';
import { isRefusal } from './admission.js';
import { type Clock, GenerationObserver, type Observed } from './generation-observer.js';
import type { Metrics } from './metrics.js';

const CLOCK: Clock = { now: () => performance.now(), date: () => Date.now() };

/** A request that no guard was found for. */
const UNGUARDED = { method: DEFAULT_GUARD.method, action: 'annotate', held: false, scored: false } as const;

/**
 * Measures answers of models that the metrics watch.
 * @param listen told of each answer, too
 */
export const metered =
  (metrics: Metrics, listen: readonly Listen[] = [], clock: Clock = CLOCK): Observe =>
  (asked, model) => {
    const { responseId, further = false } = asked;
    const series = metrics.of(model.name);
    const began = { responseId, beganMs: clock.now() };
    const { tell, trace } = listenerOf(
      listen,
      { model: model.name, provider: model.inside?.provider ?? 'flinch', asked },
      metrics,
    );
    const observerOf = (guard: Omit<Observed, 'responseId' | 'beganMs'>) =>
      new GenerationObserver(series, { ...began, ...guard }, clock, tell);
    let observer: GenerationObserver | null = null;
    let isHeld = false;
    return {
      trace,
      started: ({ guard: { method, delivery, enabled, action: set } }) => {
        const action = replacesAnswers(set) ? 'annotate' : set; // steps are only marked
        isHeld = enabled && delivery === 'held';
        observer = observerOf({ method, action, held: isHeld, scored: enabled, further });
      },
      written: (event) => {
        if (isHeld) observer?.written(event); // for other answers it sees all events anyway
      },
      told: (event) => observer?.event(event),
      over: (end) => {
        if (end === 'complete') return;
        if (end === 'cancelled') return observer?.cancelled();
        const apiError = toApiError(end.error);
        const { code } = apiError.body;
        // One that is refused before it has begun is none.
        if (observer?.hasStarted || !isRefusal(apiError))
          return (observer ?? observerOf(UNGUARDED)).failed(code);
        tell({ type: 'refused', code });
        if (observer && asked.announced) metrics.refused(code, model.name);
      },
    };
  };

/** All that listen, none of which is an answer's concern. */
function listenerOf(listen: readonly Listen[], about: GenerationAbout, metrics: Metrics): GenerationListener {
  const listeners: GenerationListener[] = [];
  const attempt = (hear: () => void): void => {
    try {
      hear();
    } catch (error) {
      metrics.failed(error);
    }
  };
  for (const each of listen) attempt(() => listeners.push(each(about)));
  return {
    trace: listeners.find((each) => each.trace)?.trace,
    tell: (news) => {
      for (const { tell } of listeners) attempt(() => tell(news));
    },
  };
}
