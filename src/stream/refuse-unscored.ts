import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Method } from '../uncertainty/method-names.js';
import type { GuardEvent, Unscored } from './events.js';
import { staged } from './stage.js';

/** A response has text that nothing scores, and none is to pass. */
export class UnscoredError extends Error {
  override readonly name = 'UnscoredError';
  /** Parts of the response beside its text, `tokens` of any part, or a scorer whose scores say little. */
  readonly what: readonly (Unscored | 'tokens' | 'scorer_mismatch')[];

  constructor(what: UnscoredError['what']) {
    super(`the response has something that is not scored: ${what.join(', ')}`);
    this.what = what;
  }
}

export interface RefuseOptions {
  /** The one that steps are judged by. */
  readonly method: Method;
}

/**
 * Passes tokens on once they have a score of `method`, and errors at the first one that has none: because its
 * log-probability is not reported, or because scoring is behind. The same for parts of an upstream's answer whose tokens are
 * not reported. After {@link judgeAnswer}: the end of a response that the guard stopped is passed on.
 *
 * Errors with an {@link UnscoredError}.
 *
 * @example
 * guarded.pipe(refuseUnscored({ method: 'nll' }));
 */
export function refuseUnscored({ method }: RefuseOptions): MonoTypeOperatorFunction<GuardEvent> {
  return staged((emit) => {
    /** Events from the first token on that has no score yet. */
    let held: GuardEvent[] = [];
    /** Tokens among them without a score. */
    const waiting = new Set<number>();
    /** One after the last token that was passed on. */
    let passed = 0;

    const pass = (event: GuardEvent): void => {
      if (event.type === 'token.delta') passed = event.index + 1;
      if (event.type === 'token.retracted') passed = Math.min(passed, event.from);
      emit(event);
    };
    const release = (): void => {
      const at = held.findIndex((event) => event.type === 'token.delta' && waiting.has(event.index));
      for (const event of held.splice(0, at < 0 ? held.length : at)) pass(event);
    };
    const retract = (from: number): void => {
      held = held.filter((event) => !('index' in event && event.index >= from));
      for (const index of waiting) if (index >= from) waiting.delete(index);
    };

    return {
      next: (event) => {
        switch (event.type) {
          case 'token.delta':
            waiting.add(event.index);
            break;
          case 'score.delta':
            if (event.pass !== 'stream') break;
            if (event.scores[method] === undefined) throw new UnscoredError(['tokens']);
            waiting.delete(event.index);
            release();
            // This event passes at once, before tokens that came since.
            if (event.index < passed) return pass(event);
            break;
          case 'upstream.delta':
            if (event.unscored.length > 0) throw new UnscoredError(event.unscored);
            break;
          case 'token.retracted':
            retract(event.from);
            if (event.from >= passed) return release();
            // Held tokens were never sent to the client.
            held.push({ ...event, tokens: passed - event.from });
            return release();
          case 'generation.done':
            if (event.verdict?.reason === 'stopped')
              held = held.filter((other) => other.type === 'step.flagged');
            else if (waiting.size > 0) throw new UnscoredError(['tokens']);
            waiting.clear();
        }
        held.push(event);
        release();
      },
    };
  });
}
