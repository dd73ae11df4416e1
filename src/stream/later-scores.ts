import { identity, Observable, type OperatorFunction, Subject } from 'rxjs';
import type { GenerationEvent, GuardEvent, ScoreEvent, TokenEvent, WrittenEvent } from './events.js';
import { FlowGate } from './flow-gate.js';
import { type ScoreOptions, score } from './score.js';

export interface LaterScoresOptions extends Pick<ScoreOptions, 'open' | 'block' | 'begins'> {
  /** See {@link ScoreOptions.lagTokens}; by default each token gets its scores, however long that takes. */
  readonly lagTokens?: number | undefined;
  /** Rates each of the scores. */
  readonly rate?: OperatorFunction<GenerationEvent, GenerationEvent>;
  /** Whether tokens may be retracted before the `step.done` of their step: no pass takes them before. */
  readonly afterSteps?: boolean;
}

/**
 * Adds scores of passes to tokens that have others. Nothing waits for them: all events pass at once, and each token gets a
 * further `score.delta` with all of its scores when its pass has run. If scores are missing where the text ends, the
 * end comes as `text.done`, then the scores, then `generation.done`.
 *
 * A failure of scoring is an error of the stream.
 *
 * @example
 * generate(engine, request, gate).pipe(
 *   writtenScores(['nll'], ['adversarial']),
 *   laterScores({ open, block: 16, begins }),
 * );
 */
export function laterScores<Event extends GuardEvent>({
  lagTokens = Number.POSITIVE_INFINITY,
  rate = identity,
  afterSteps = false,
  ...options
}: LaterScoresOptions): OperatorFunction<Event, Event | GenerationEvent> {
  return (source) =>
    new Observable((subscriber) => {
      const passed = new Subject<WrittenEvent>();
      /** Tokens that may be retracted. */
      let unsettled: TokenEvent[] = [];
      /** Scores that came with the tokens, by index, until all are there. */
      const first = new Map<number, ScoreEvent>();

      const settle = (to: number): void => {
        const settled = unsettled.filter(({ index }) => index < to);
        unsettled = unsettled.filter(({ index }) => index >= to);
        for (const token of settled) passed.next(token);
      };
      const complete = (event: ScoreEvent): ScoreEvent => {
        const before = first.get(event.index);
        if (!before) return event;
        first.delete(event.index);
        return {
          ...event,
          scores: { ...event.scores, ...before.scores }, // in the order of METHODS
          skipped: [...before.skipped, ...event.skipped],
          ...((before.risk || event.risk) && { risk: { ...event.risk, ...before.risk } }),
        };
      };
      // Nothing of the source waits, so nothing has to be paused.
      const scores = score({ ...options, lagTokens, gate: new FlowGate() });
      subscriber.add(
        passed.pipe(scores, rate).subscribe({
          next: (event) => {
            if (event.type === 'score.delta') subscriber.next(complete(event));
            else if (event.type === 'generation.done') subscriber.next(event);
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
      subscriber.add(
        source.subscribe({
          next: (event) => {
            const known: GuardEvent = event;
            if (known.type === 'generation.done') {
              settle(Number.POSITIVE_INFINITY);
              if (first.size > 0) subscriber.next({ ...known, type: 'text.done' });
              passed.next(known);
              return;
            }
            subscriber.next(event);
            if (known.type === 'token.delta') unsettled.push(known);
            else if (known.type === 'score.delta' && known.pending) first.set(known.index, known);
            else if (known.type === 'token.retracted') retract(known.from);
            if (!afterSteps && known.type === 'score.delta') settle(known.index + 1);
            else if (known.type === 'step.done') settle(known.to);
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => passed.complete(),
        }),
      );

      function retract(from: number): void {
        unsettled = unsettled.filter(({ index }) => index < from);
        for (const index of first.keys()) if (index >= from) first.delete(index);
      }
    });
}
