import { Observable, type OperatorFunction, switchMap } from 'rxjs';
import { EngineError } from '../engine/engine-errors.js';
import { hash32 } from '../numerics/noise.js';
import type { ActionName, GuardEvent, ScoreEvent, StepEvent, Usage } from '../stream/events.js';
import { FlowGate } from '../stream/flow-gate.js';
import { type Attempt, type Followed, readCandidate, summaryOf } from './attempt.js';
import type { Branch, Continuation } from './branch.js';
import { EventReader } from './event-reader.js';
import type { Policy, Rollback } from './policy.js';

export interface InterveneOptions {
  readonly policy: Policy;
  /** Other continuations are drawn by seeds that follow from it. */
  readonly seed: number;
  /** Held by a reader that does not keep up. */
  readonly gate?: FlowGate;
  /**
   * Whether a continuation that fails with this error is done without: the response goes on as it stands. By default
   * none is.
   */
  readonly dispensable?: (error: unknown) => boolean;
}

/**
 * Follows a branch of text and acts on its flagged steps as a policy says: leave it, stop, or draw candidates for the step
 * and go on with one of them.
 *
 * Tokens are emitted at once; `token.retracted` voids those that were replaced. A step's `step.done` is final: nothing
 * up to its end is retracted any more. After a rollback each score is that of the text as it stands, scored with the
 * same block boundaries.
 *
 * Errors with the error of a branch, unless a continuation that fails can be left out. Unsubscribing closes all
 * branches.
 *
 * @example
 * from(engineBranch(engine, request, options)).pipe(intervene({ policy, seed: 1 })).subscribe(console.log);
 */
export function intervene({
  gate = new FlowGate(),
  dispensable = () => false,
  ...options
}: InterveneOptions): OperatorFunction<Branch, GuardEvent> {
  return switchMap(
    (root) =>
      new Observable<GuardEvent>((subscriber) => {
        const interventions = new Interventions({ ...options, gate, dispensable }, (event) =>
          subscriber.next(event),
        );
        interventions.follow(root).then(
          () => subscriber.complete(),
          (error: unknown) => subscriber.error(error),
        );
        return () => interventions.close();
      }),
  );
}

/** One guarded response: the branch that is followed, and the events of it that were emitted. */
class Interventions {
  readonly #options: Required<InterveneOptions>;
  readonly #emit: (event: GuardEvent) => void;
  readonly #open = new Set<Followed>();
  /** The latest of each token of the steps that are not settled. */
  readonly #scores = new Map<number, ScoreEvent>();
  /** Tokens that have been emitted and not retracted. */
  #tokens = 0;
  /** Tokens written for branches that are closed. */
  #written = 0;
  #interventions = 0;
  /** A continuation failed that was all that was asked for: it may have been waited for long, so none is asked for again. */
  #lost = false;
  #root: Branch | null = null;
  #closed = false;

  constructor(options: Required<InterveneOptions>, emit: (event: GuardEvent) => void) {
    this.#options = options;
    this.#emit = emit;
  }

  /** Resolves once the response is over. */
  async follow(root: Branch): Promise<void> {
    this.#root = root;
    for (let current: Followed | null = this.#read(root); current; ) {
      const event: GuardEvent | null = current.reader.take() ?? (await current.reader.next());
      if (event === null) return; // closed
      if (event.type === 'generation.done') return this.#finish(event.finishReason, event.usage);
      if (event.type === 'step.done') current = await this.#settle(event, current);
      else this.#pass(event);
    }
  }

  close(): void {
    this.#closed = true;
    for (const followed of this.#open) this.#leave(followed);
  }

  #pass(event: GuardEvent): void {
    if (event.type === 'token.delta') this.#tokens = event.index + 1;
    if (event.type === 'score.delta') this.#scores.set(event.index, event);
    this.#emit(event);
  }

  #flag({ type: _, flagged: __, ...verdict }: StepEvent, action: ActionName): void {
    this.#emit({ type: 'step.flagged', ...verdict, action });
  }

  /** Emits the last word on a step. */
  #conclude(step: StepEvent): void {
    for (const index of this.#scores.keys()) if (index < step.to) this.#scores.delete(index);
    this.#emit(step);
  }

  /** @returns the branch to follow from there on; `null` when the response is over */
  async #settle(step: StepEvent, current: Followed): Promise<Followed | null> {
    if (step.flagged) {
      const asked = await this.#options.policy(step, { interventions: this.#interventions });
      const possible = asked.action !== 'rollback' || (!this.#lost && current.branch.fits(step.from));
      const intervention = possible ? asked : ({ action: 'annotate' } as const);
      this.#flag(step, intervention.action);
      if (intervention.action === 'stop') {
        this.#finish('content_filter');
        return null;
      }
      if (intervention.action === 'rollback') return this.#rollback(step, intervention, current);
    }
    this.#conclude(step);
    return current;
  }

  async #rollback(original: StepEvent, rollback: Rollback, current: Followed): Promise<Followed | null> {
    const { candidates: count, choose } = rollback;
    const { step, from } = original;
    const number = this.#interventions;
    this.#interventions += 1;
    this.#emit({ type: 'rollback.started', rollback: number, step, from, candidates: count });
    const resume = current.gate.hold();
    const drawn = await Promise.all(
      Array.from({ length: count }, (_, i) =>
        this.#attempt(this.#draw(original, rollback, current.branch, i + 1)),
      ),
    );
    const others = drawn.filter((attempt) => attempt !== null);
    this.#lost = others.length === 0;
    const candidates = [summaryOf(original, this.#scores), ...others].map(({ text, tokens, score }) => ({
      text,
      tokens,
      score,
    }));
    const chosen = choose(candidates);
    const text = candidates[chosen]?.text;
    if (text === undefined)
      throw new RangeError(`choose: ${chosen} is not one of ${candidates.length} candidates`);
    const done = { type: 'rollback.done', rollback: number, step, candidates } as const;
    const same = text === original.text;
    const attempt = same ? undefined : others[chosen - 1];
    const next = attempt ? await this.#continueWith(attempt, current) : null;
    resume();
    if (!attempt || next === null) {
      this.#leaveOthers(current);
      this.#emit({ ...done, chosen: same ? chosen : 0, outcome: 'kept' });
      this.#conclude(original);
      return current;
    }
    if (next !== 'over') this.#leaveOthers(next);
    this.#retract(from);
    for (const event of attempt.events) this.#pass(event);
    this.#emit({ ...done, chosen, outcome: 'replaced' });
    if (attempt.step) this.#conclude(attempt.step);
    if (next !== 'over') return next;
    this.#finish(attempt.done?.finishReason ?? 'stop');
    return null;
  }

  /** A candidate for a step: a branch that is read up to the step's end. */
  async #draw(
    { step, from }: StepEvent,
    { temperature }: Rollback,
    branch: Branch,
    candidate: number,
  ): Promise<Attempt> {
    const seed = this.#seed(candidate);
    const drawn = temperature === undefined ? {} : { temperature };
    return readCandidate(await this.#fork(branch, { step, from, seed, ...drawn }));
  }

  /**
   * Continues the response after the chosen candidate, as the request says.
   * @returns `null` where it cannot: then nothing was taken back yet
   */
  async #continueWith(
    { followed, step, done }: Attempt,
    current: Followed,
  ): Promise<Followed | 'over' | null> {
    if (done || !step) return 'over';
    if (!followed.branch.fits(step.to)) return null;
    this.#leaveOthers(current, followed);
    const point = { step: step.step + 1, from: step.to };
    const next = await this.#attempt(this.#fork(followed.branch, { ...point, seed: this.#seed(0) }));
    this.#lost = next === null;
    return next;
  }

  /** @returns `null` for a continuation that fails and is done without */
  async #attempt<T>(continuation: Promise<T>): Promise<T | null> {
    try {
      return await continuation;
    } catch (error) {
      if (this.#options.dispensable(error)) return null;
      throw error;
    }
  }

  #finish(finishReason: string, counted?: Usage): void {
    this.#leaveOthers();
    const { promptTokens = null, cachedTokens } = this.#root ?? {};
    const usage = {
      ...(counted ?? { promptTokens, completionTokens: this.#tokens }),
      ...(cachedTokens !== undefined && { cachedTokens }),
      generatedTokens: this.#written,
    };
    this.#emit({ type: 'generation.done', finishReason, usage });
  }

  #retract(from: number): void {
    if (this.#tokens > from) this.#emit({ type: 'token.retracted', from, tokens: this.#tokens - from });
    this.#tokens = Math.min(this.#tokens, from);
    for (const index of this.#scores.keys()) if (index >= from) this.#scores.delete(index);
  }

  /** Seed of a candidate of the latest intervention, or of the text that follows it. */
  #seed(candidate: number): number {
    return hash32(this.#options.seed, this.#interventions, candidate);
  }

  #read(branch: Branch): Followed {
    const gate = new FlowGate(this.#options.gate);
    const followed = { branch, gate, reader: new EventReader(branch.events(gate), gate) };
    this.#open.add(followed);
    return followed;
  }

  async #fork(branch: Branch, continuation: Continuation): Promise<Followed> {
    const fork = await branch.fork(continuation);
    if (!this.#closed) return this.#read(fork);
    fork.close();
    throw new EngineError('closed', 'the response was cancelled');
  }

  #leaveOthers(...stay: readonly Followed[]): void {
    for (const followed of this.#open) if (!stay.includes(followed)) this.#leave(followed);
  }

  #leave(followed: Followed): void {
    this.#open.delete(followed);
    followed.reader.close();
    this.#written += followed.branch.written;
    followed.branch.close();
  }
}
