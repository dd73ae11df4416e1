import { concat, concatMap, defer, type OperatorFunction } from 'rxjs';
import { type StepSpan, TokenSteps, type TokenStepsOptions } from '../steps/token-steps.js';
import type { GuardEvent, StepClosedEvent } from './events.js';

/**
 * Adds `step.closed` once no continuation can change which tokens a step has, at the latest before
 * `generation.done` or completion. Every token belongs to one step (see {@link TokenSteps}); other events pass.
 *
 * A branch of a text goes on in the middle: it says where the current step began (`from`, `step`), and its events begin
 * with those of the step that were there already.
 *
 * Errors with a RangeError if a token's index is not the one after the last.
 *
 * @example
 * scoredGeneration(engine, request, scoring).pipe(segmentSteps());
 * // Token 57 is drawn anew; it is the third of step 4, and the branch gives tokens 55 and 56 once more:
 * branch.pipe(segmentSteps({ from: 55, step: 4 }));
 */
export function segmentSteps<E extends GuardEvent>(
  options: TokenStepsOptions = {},
): OperatorFunction<E, E | StepClosedEvent> {
  const { from = 0 } = options;
  return (source) =>
    defer(() => {
      const steps = new TokenSteps(options);
      let next = from;

      const push = (index: number, text: string): StepClosedEvent[] => {
        if (index !== next) throw new RangeError(`segmentSteps: token ${index} comes instead of ${next}`);
        next += 1;
        return steps.push(text).map(closed);
      };
      const end = (): StepClosedEvent[] => steps.end().map(closed);

      const events = source.pipe(
        concatMap((event: E): (E | StepClosedEvent)[] => {
          const known: GuardEvent = event;
          if (known.type === 'token.delta') return [event, ...push(known.index, known.text)];
          return known.type === 'generation.done' ? [...end(), event] : [event];
        }),
      );
      return concat(events, defer(end));
    });
}

function closed(span: StepSpan): StepClosedEvent {
  return { ...span, type: 'step.closed' };
}
