import { EngineError } from '../engine/errors.js';
import { hash32 } from '../numerics/noise.js';
import type { ActionName, GuardEvent, ScoreEvent, SpikeEvent, StepEvent, Usage } from '../stream/events.js';
import { FlowGate } from '../stream/flow-gate.js';
import { type Attempt, type Followed, readCandidate, readRest, summaryOf } from './attempt.js';
import type { Branch } from './branch.js';
import type { Continuation, Place } from './continuation.js';
import { EventReader } from './event-reader.js';
import type { Intervention, Policy, Rollback, SpikePolicy } from './policy.js';

export interface InterveneOptions {
  readonly policy: Policy;
  /** By default spikes are only passed on. */
  readonly spikePolicy?: SpikePolicy;
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

/** One guarded response: the branch that is followed, and the events of it that were emitted. */
export class Interventions {
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
  /** Events that were read ahead, and come next. */
  readonly #ahead: GuardEvent[] = [];
  /** The step that is being written. */
  #place: Place = { step: 0, from: 0 };
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
      const event: GuardEvent | null = this.#take(current) ?? (await current.reader.next());
      if (event === null) return; // closed
      if (event.type === 'generation.done') return this.#finish(event.finishReason, event.usage);
      if (event.type === 'step.done') current = await this.#settle(event, current);
      else if (event.type === 'spike.detected') current = await this.#actOn(event, current);
      else this.#pass(event);
    }
  }

  close(): void {
    this.#closed = true;
    for (const followed of this.#open) this.#leave(followed);
  }

  /** The next event, if it is there. */
  #take({ reader }: Followed): GuardEvent | undefined {
    return this.#ahead.shift() ?? reader.take();
  }

  async #next(followed: Followed): Promise<GuardEvent | null> {
    return this.#take(followed) ?? followed.reader.next();
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
    this.#place = { step: step.step + 1, from: step.to };
    for (const index of this.#scores.keys()) if (index < step.to) this.#scores.delete(index);
    this.#emit(step);
  }

  /** @returns the branch to follow from there on; `null` when the response is over */
  async #actOn(spike: SpikeEvent, current: Followed): Promise<Followed | null> {
    const { index } = spike;
    const asked = this.#options.spikePolicy(spike, { interventions: this.#interventions });
    if (asked.action === 'stop') {
      this.#emit({ ...spike, action: 'stop' });
      return this.#stop();
    }
    if (asked.action !== 'rollback' || this.#lost || !current.branch.fits(index, '')) {
      this.#emit(spike);
      return current;
    }
    this.#emit({ ...spike, action: 'rollback' });
    const next = () => this.#next(current);
    const read = () => readRest(current, index, { next, scores: this.#scores });
    return this.#rollback(this.#place, { ...asked, from: index }, current, read);
  }

  /** @returns the branch to follow from there on; `null` when the response is over */
  async #settle(step: StepEvent, current: Followed): Promise<Followed | null> {
    if (step.flagged) {
      const asked = await this.#options.policy(step, { interventions: this.#interventions });
      const intervention = this.#lost ? unlessStopped(asked) : fitting(asked, step, current.branch);
      this.#flag(step, intervention.action);
      if (intervention.action === 'stop') return this.#stop();
      if (intervention.action === 'rollback') {
        const summary = summaryOf(step, intervention.from, this.#scores);
        const original: Attempt = { ...summary, followed: current, events: [], step, done: null };
        return this.#rollback(step, intervention, current, async () => original);
      }
      if (intervention.action === 'reflect')
        return this.#reflect(step, requestAfter(step, intervention.text), current);
    }
    this.#conclude(step);
    return current;
  }

  #stop(): null {
    this.#finish('content_filter');
    return null;
  }

  /** Puts the request to check the step in the place of the text that was written after it. */
  async #reflect(step: StepEvent, insert: string, current: Followed): Promise<Followed> {
    const { branch } = current;
    this.#interventions += 1;
    const place = { keep: step.to, step: step.step + 1, from: step.to };
    const next = await this.#continued(branch, { ...place, insert, seed: this.#seed(0) });
    if (next) {
      this.#leaveOthers(next);
      this.#retract(step.to);
    }
    this.#conclude(step);
    return next ?? current;
  }

  /** @param read the version of the branch itself, which then waits */
  async #rollback(
    place: Place,
    rollback: Rollback,
    current: Followed,
    read: () => Promise<Attempt>,
  ): Promise<Followed | null> {
    const { from, candidates: count } = rollback;
    const { step } = place;
    const number = this.#interventions;
    this.#interventions += 1;
    this.#emit({ type: 'rollback.started', rollback: number, step, from, candidates: count });
    const held = read().then((original) => ({ original, resume: current.gate.hold() }));
    const drawn = Array.from({ length: count }, (_, i) =>
      this.#attempt(this.#draw(place, rollback, current.branch, i + 1)),
    );
    const [{ original, resume }, ...others] = await Promise.all([held, ...drawn]);
    const attempts = [original, ...others.filter((attempt) => attempt !== null)];
    this.#lost = attempts.length === 1;
    const candidates = attempts.map(({ text, tokens, score }) => ({ text, tokens, score }));
    const chosen = rollback.choose(candidates);
    const attempt = attempts[chosen];
    if (!attempt) throw new RangeError(`choose: ${chosen} is not one of ${attempts.length} candidates`);
    const done = { type: 'rollback.done', rollback: number, step, candidates } as const;
    const same = attempt.text === original.text;
    const next = same ? null : await this.#goOn(attempt, current);
    resume();
    if (next === null) {
      this.#leaveOthers(current);
      const { events, step: whole, pieces } = original;
      // A score may come after a token of the next step, and so may what is said of it.
      const isLater = (event: GuardEvent): boolean => 'index' in event && event.index >= (whole?.to ?? 0);
      for (const event of events) if (!isLater(event)) this.#pass(event);
      this.#ahead.push(...events.filter(isLater));
      this.#emit({ ...done, chosen: same ? chosen : 0, outcome: 'kept' });
      for (const each of pieces ?? (whole ? [whole] : [])) {
        if (pieces && each.flagged) this.#flag(each, 'annotate');
        this.#conclude(each);
      }
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
    { step, from: start }: Place,
    { from, temperature }: Rollback,
    branch: Branch,
    candidate: number,
  ): Promise<Attempt> {
    const followed = await this.#fork(branch, {
      keep: from,
      step,
      from: start,
      seed: this.#seed(candidate),
      ...(temperature !== undefined && { temperature }),
    });
    return readCandidate(followed, from);
  }

  /**
   * Continues the response after the chosen candidate, as the request says.
   * @returns `null` where it cannot: then nothing was taken back yet
   */
  async #goOn({ followed, step, done }: Attempt, current: Followed): Promise<Followed | 'over' | null> {
    if (done || !step) return 'over';
    if (!followed.branch.fits(step.to, '')) return null;
    this.#leaveOthers(current, followed);
    const place = { keep: step.to, step: step.step + 1, from: step.to };
    return this.#continued(followed.branch, { ...place, seed: this.#seed(0) });
  }

  async #continued(branch: Branch, continuation: Continuation): Promise<Followed | null> {
    const next = await this.#attempt(this.#fork(branch, continuation));
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

const unlessStopped = ({ action }: Intervention): Intervention => ({
  action: action === 'stop' ? 'stop' : 'annotate',
});

/** Annotates instead if the branch cannot go on, such as after a request that leaves no room to answer. */
function fitting(intervention: Intervention, step: StepEvent, branch: Branch): Intervention {
  return fits(intervention, step, branch) ? intervention : { action: 'annotate' };
}

function fits(intervention: Intervention, step: StepEvent, branch: Branch): boolean {
  switch (intervention.action) {
    case 'rollback':
      return branch.fits(intervention.from, '');
    case 'reflect':
      return branch.fits(step.to, requestAfter(step, intervention.text));
    default:
      return true;
  }
}

/** Request on a line of its own, or at least separated by white space. */
const requestAfter = ({ text }: StepEvent, request: string): string =>
  /\s$/.test(text) ? request : `\n${request}`;
