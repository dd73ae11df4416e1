import { concat, concatMap, defer, type OperatorFunction } from 'rxjs';
import type { GuardEvent, StepClosedEvent, StepSpan } from './events.js';
import { TokenSteps, type TokenStepsOptions } from './token-steps.js';

export interface SegmentOptions extends TokenStepsOptions {
  /** Texts of the tokens from `from` on that are there already; steps that they settle are not emitted. */
  readonly kept?: readonly string[];
}

/**
 * Adds `step.closed` once no continuation can change which tokens a step has, at the latest before
 * `generation.done` or completion. Every token belongs to one step (see {@link TokenSteps}); other events pass.
 *
 * A branch of a text goes on in the middle. Where the steps before are final, it says where the current step began
 * (`from`, `step`) and what of it there is (`kept`). With all texts from token 0 on in `kept`, the steps are those of
 * the whole text, of which some may then end elsewhere than they did before another continuation.
 *
 * Errors with a RangeError if a token's index is not the one after the last.
 *
 * @example
 * scoredGeneration(engine, request, scoring).pipe(segmentSteps());
 * // Token 57 is drawn anew; it is the third of step 4:
 * branch.pipe(segmentSteps({ from: 55, step: 4, kept: ['So', ' far'] }));
 */
export function segmentSteps<E extends GuardEvent>(
  options: SegmentOptions = {},
): OperatorFunction<E, E | StepClosedEvent> {
  const { from = 0, kept = [] } = options;
  return (source) =>
    defer(() => {
      const steps = new TokenSteps(options);
      for (const text of kept) steps.push(text);
      let next = from + kept.length;

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
