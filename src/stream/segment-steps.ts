import type { OperatorFunction } from 'rxjs';
import { type PartOf, samePart } from '../steps/text-part.js';
import { type StepSpan, TokenSteps, type TokenStepsOptions } from '../steps/token-steps.js';
import type { GuardEvent, StepClosedEvent, TokenEvent } from './events.js';
import { staged } from './stage.js';

/**
 * Adds `step.closed` once no continuation can change which tokens a step has, at the latest before
 * `generation.done` or completion. Every token belongs to one step (see {@link TokenSteps}); other events pass. No step
 * is of two parts of an answer, and a tool call is one step.
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
  const { from = 0, step = 0 } = options;
  return staged((emit) => {
    let steps: Steps = new TokenSteps(options);
    let of: PartOf = {};
    let next = from;
    let nextStep = step;

    const close = (spans: readonly StepSpan[]): void => {
      nextStep += spans.length;
      for (const span of spans) emit({ ...span, type: 'step.closed', ...(of.part && { part: of.part }) });
    };
    const end = (): void => close(steps.end());
    const push = (token: TokenEvent): void => {
      if (!samePart(token, of)) {
        end();
        const place = { ...options, from: token.index, step: nextStep };
        steps = token.part === 'tool_calls' ? oneStep(place) : new TokenSteps(place);
        of = token;
      }
      close(steps.push(token.text));
    };

    return {
      next: (event) => {
        const known: GuardEvent = event;
        if (known.type === 'generation.done') end();
        if (known.type !== 'token.delta') return emit(event);
        const { index } = known;
        if (index !== next) throw new RangeError(`segmentSteps: token ${index} comes instead of ${next}`);
        next += 1;
        emit(event);
        push(known);
      },
      end,
    };
  });
}

type Steps = Pick<TokenSteps, 'push' | 'end'>;

/** All tokens that come are one step, if any come. */
function oneStep({ from, step }: { readonly from: number; readonly step: number }): Steps {
  let to = from;
  let text = '';
  return {
    push: (more) => {
      to += 1;
      text += more;
      return [];
    },
    end: () => (to > from ? [{ step, from, to, text }] : []),
  };
}
