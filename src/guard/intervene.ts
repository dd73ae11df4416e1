import { Observable, type OperatorFunction, switchMap } from 'rxjs';
import type { GuardEvent, StepEvent, Usage } from '../stream/events.js';
import { FlowGate } from '../stream/flow-gate.js';
import type { Branch } from './branch.js';
import { EmittedText } from './emitted-text.js';
import { type Followed, FollowedBranches } from './followed-branches.js';
import type { Policy } from './policy.js';
import { type RolledBack, rollBack } from './rollback.js';

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

/** One guarded response: each flagged step of the branch that is followed is acted on. */
class Interventions {
  readonly #options: Required<InterveneOptions>;
  readonly #text: EmittedText;
  readonly #branches: FollowedBranches;
  #interventions = 0;
  /** A continuation failed that was all that was asked for: it may have been waited for long, so none is asked for again. */
  #lost = false;

  constructor(options: Required<InterveneOptions>, emit: (event: GuardEvent) => void) {
    this.#options = options;
    this.#text = new EmittedText(emit);
    this.#branches = new FollowedBranches(options.gate, options.dispensable);
  }

  /** Resolves once the response is over. */
  async follow(root: Branch): Promise<void> {
    for (let current = this.#branches.read(root); ; ) {
      const event = current.reader.take() ?? (await current.reader.next());
      if (event === null) return; // closed
      if (event.type === 'generation.done') return this.#finish(root, event.finishReason, event.usage);
      if (event.type !== 'step.done') {
        this.#text.pass(event);
        continue;
      }
      const next = event.flagged ? await this.#flagged(event, current) : this.#settled(event, current);
      if ('finishReason' in next) return this.#finish(root, next.finishReason);
      current = next;
    }
  }

  close(): void {
    this.#branches.close();
  }

  #settled(step: StepEvent, current: Followed): Followed {
    this.#text.conclude(step);
    return current;
  }

  /** @returns the branch to follow from there on, or the end of the response */
  async #flagged(step: StepEvent, current: Followed): Promise<RolledBack['next']> {
    const asked = await this.#options.policy(step, { interventions: this.#interventions });
    const possible = asked.action !== 'rollback' || (!this.#lost && current.branch.fits(step.from));
    const intervention = possible ? asked : ({ action: 'annotate' } as const);
    const { type: _, flagged: __, ...verdict } = step;
    this.#text.emit({ type: 'step.flagged', ...verdict, action: intervention.action });
    if (intervention.action === 'stop') return { finishReason: 'content_filter' };
    if (intervention.action !== 'rollback') return this.#settled(step, current);
    const number = this.#interventions++;
    const { seed } = this.#options;
    const options = { number, seed, branches: this.#branches, text: this.#text };
    const { next, lost } = await rollBack(step, intervention, current, options);
    this.#lost = lost;
    return next;
  }

  #finish({ promptTokens, cachedTokens }: Branch, finishReason: string, counted?: Usage): void {
    this.#branches.leaveOthers();
    const usage = {
      ...(counted ?? { promptTokens, completionTokens: this.#text.tokens }),
      ...(cachedTokens !== undefined && { cachedTokens }),
      generatedTokens: this.#branches.written,
    };
    this.#text.emit({ type: 'generation.done', finishReason, usage });
  }
}
