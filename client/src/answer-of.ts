import { catchError, concat, defer, of, scan } from 'rxjs';
import { type Answer, EMPTY_ANSWER, failAnswer, foldAnswer } from './answer.js';
import { FlinchError } from './client-errors.js';
import type { Observable } from './observable.js';
import type { GenerationEvent } from './protocol-events.js';

/**
 * Emits the answer after each of its events, the empty answer first. It removes retracted text, and keeps text that
 * was struck out in `rollbacks`.
 *
 * A generation that fails ends with an answer whose `phase` is `failed` and whose `error` says why: then it completes.
 * Errors that are no {@link FlinchError} pass.
 *
 * @example
 * client.generate(request).pipe(answerOf()).subscribe(({ tokens, steps }) => draw(tokens, steps));
 */
export function answerOf(): (events: Observable<GenerationEvent>) => Observable<Answer> {
  return (events) =>
    defer(() => {
      let last = EMPTY_ANSWER;
      const answers = events.pipe(
        scan((answer, event) => {
          last = foldAnswer(answer, event);
          return last;
        }, EMPTY_ANSWER),
        catchError((error: unknown) => {
          if (!(error instanceof FlinchError)) throw error;
          return of(failAnswer(last, error));
        }),
      );
      return concat(of(EMPTY_ANSWER), answers);
    });
}
