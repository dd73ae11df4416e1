import {
  defer,
  filter,
  from,
  last,
  map,
  mergeMap,
  type Observable,
  retry,
  tap,
  throwError,
  timer,
} from 'rxjs';
import type { Engine } from '../engine/engine.js';
import { EngineError } from '../engine/engine-errors.js';
import type { GenerateRequest } from '../engine/generation.js';
import type { ScoredAnswer } from '../risk/score-collector.js';
import { StepAligner } from '../steps/step-aligner.js';
import type { Scoring } from '../uncertainty/settings.js';
import type { DoneEvent, ScoreEvent, StepClosedEvent, TokenEvent } from './events.js';
import { FlowGate } from './flow-gate.js';
import { scoredGeneration } from './scored-generation.js';
import { segmentSteps } from './segment-steps.js';

/** An answer that was written to be looked at, not to be read. */
export interface CollectedAnswer extends ScoredAnswer {
  /** Index of the request, from 0. */
  readonly request: number;
  readonly tokens: readonly TokenEvent[];
  readonly scores: readonly ScoreEvent[];
  readonly steps: readonly StepClosedEvent[];
  readonly done: DoneEvent;
}

export interface CollectOptions {
  /** Answers at once. */
  readonly concurrency?: number;
  /** Is called for each token of any answer. */
  readonly onToken?: () => void;
}

/** Passes and decoder runs of several texts go together. */
const CONCURRENCY = 8;
const RETRY_MS = 50;

/**
 * Answers to requests, with scores and steps exactly as a guard sees them. Several are written at once, and each is
 * emitted when it is done, so not in their order; unsubscribing cancels those under way. Where memory does not suffice
 * for all, some wait for others to end.
 *
 * Errors with an EngineError or a SettingsError.
 *
 * @example
 * collectScores(engine, requests, DEFAULT_SCORING).subscribe((answer) => collector.add(answer));
 */
export function collectScores(
  engine: Engine,
  requests: readonly GenerateRequest[],
  scoring: Scoring,
  { concurrency = CONCURRENCY, onToken = () => {} }: CollectOptions = {},
): Observable<CollectedAnswer> {
  return from(requests).pipe(
    mergeMap(
      (request, index) =>
        answer(engine, request, scoring, onToken).pipe(
          // A request that could never fit fails with another error; one that is overloaded fits once others
          // have ended.
          retry({
            delay: (error: unknown) => (isOverload(error) ? timer(RETRY_MS) : throwError(() => error)),
          }),
          map((collected) => ({ request: index, ...collected })),
        ),
      concurrency,
    ),
  );
}

function answer(
  engine: Engine,
  request: GenerateRequest,
  scoring: Scoring,
  onToken: () => void,
): Observable<Omit<CollectedAnswer, 'request'>> {
  return defer(() => {
    const tokens: TokenEvent[] = [];
    const scores: ScoreEvent[] = [];
    const steps: StepClosedEvent[] = [];
    const aligner = new StepAligner();
    const begins = (text: string): boolean => aligner.begins(text);
    return scoredGeneration(engine, request, scoring, new FlowGate(), begins).pipe(
      segmentSteps(),
      tap((event) => {
        if (event.type === 'token.delta') {
          tokens.push(event);
          onToken();
        }
        if (event.type === 'score.delta' && !event.pending) scores.push(event);
        if (event.type === 'step.closed') steps.push(event);
      }),
      filter((event) => event.type === 'generation.done'),
      last(),
      map((done) => ({ tokens, scores, steps, done })),
    );
  });
}

const isOverload = (error: unknown): boolean => error instanceof EngineError && error.code === 'overloaded';
