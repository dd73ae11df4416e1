import { sum } from 'simple-statistics';
import { EngineError } from '../engine/errors.js';
import { hash32 } from '../numerics/noise.js';
import type {
  ActionName,
  DoneEvent,
  GuardEvent,
  ScoreEvent,
  SpikeEvent,
  StepEvent,
  Usage,
} from '../stream/events.js';
import { FlowGate } from '../stream/flow-gate.js';
import type { Branch } from './branch.js';
import type { Continuation, Place } from './continuation.js';
import { EventReader } from './event-reader.js';
import type { Candidate, Intervention, Policy, Rollback, SpikePolicy } from './policy.js';

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

/** A branch that is being read. */
interface Followed {
  readonly branch: Branch;
  readonly gate: FlowGate;
  readonly reader: EventReader<GuardEvent>;
}

/** A branch's version of one step. */
interface Attempt extends Candidate {
  readonly followed: Followed;
  /** Events of the step's tokens from the cut on that were not emitted. */
  readonly events: GuardEvent[];
  /** `null` where the response ended without a further token. */
  readonly step: StepEvent | null;
  /** The same as its branch told it, where that was in several pieces. */
  readonly pieces?: readonly StepEvent[];
  /** End of the response, if it ended with the step. */
  readonly done: DoneEvent | null;
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
      const event: GuardEvent | null = await this.#next(current);
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

  async #next({ reader }: Followed): Promise<GuardEvent | null> {
    return this.#ahead.shift() ?? reader.take() ?? reader.next();
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
    if (asked.action !== 'rollback' || !current.branch.fits(index, '')) {
      this.#emit(spike);
      return current;
    }
    this.#emit({ ...spike, action: 'rollback' });
    const read = () => this.#readStep(current, index);
    return this.#rollback(this.#place, { ...asked, from: index }, current, read);
  }

  /**
   * The rest of the step that a branch is in, unseen. The step before may not be known to be over yet: the two are one
   * then, as they are for a candidate.
   */
  async #readStep(followed: Followed, from: number): Promise<Attempt> {
    const events: GuardEvent[] = [];
    const pieces: StepEvent[] = [];
    for (;;) {
      const event = await this.#next(followed);
      if (event === null) throw new EngineError('closed', 'the response was cancelled');
      if (event.type !== 'step.done') {
        events.push(event);
        continue;
      }
      pieces.push(event);
      if (event.to <= from) continue;
      const step = pieces.reduce(joined);
      const scores = new Map([...this.#scores, ...scoresOf(events)]);
      return { ...this.#summary(step, from, scores), followed, events, step, pieces, done: null };
    }
  }

  /** @returns the branch to follow from there on; `null` when the response is over */
  async #settle(step: StepEvent, current: Followed): Promise<Followed | null> {
    if (step.flagged) {
      const peak = this.#peak(step);
      const asked = await this.#options.policy(step, { interventions: this.#interventions, peak });
      const intervention = fitting(asked, step, current.branch);
      this.#flag(step, intervention.action);
      if (intervention.action === 'stop') return this.#stop();
      if (intervention.action === 'rollback') {
        const summary = this.#summary(step, intervention.from, this.#scores);
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
    const next = await this.#attempt(this.#fork(branch, { ...place, insert, seed: this.#seed(0) }));
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
      const isLater = (event: GuardEvent): boolean => 'index' in event && event.index >= (whole?.to ?? 0);
      const first = events.findIndex(isLater);
      for (const event of events.splice(0, first < 0 ? events.length : first)) this.#pass(event);
      this.#ahead.unshift(...events);
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
      ...{ keep: from, step, from: start },
      seed: this.#seed(candidate),
      ...(temperature !== undefined && { temperature }),
    });
    const events: GuardEvent[] = [];
    let drawn: StepEvent | null = null;
    let further = false;
    // A step is known to be over when a later token is there, or the response has ended.
    for (;;) {
      const event = await followed.reader.next();
      if (event === null) throw new EngineError('closed', 'the response was cancelled');
      const done = event.type === 'generation.done' ? event : null;
      if (event.type !== 'step.done') events.push(event);
      // The part of the step that stays may by itself end one, now that something else follows it.
      else if (!drawn || drawn.to <= from) drawn = drawn ? joined(drawn, event) : event;
      const end = drawn && drawn.to > from ? drawn.to : null;
      further ||= end !== null && events.some((other) => other.type === 'token.delta' && other.index >= end);
      if (!done && !further) continue;
      const own = events.filter((other) => 'index' in other && other.index < (end ?? from));
      const summary = drawn
        ? this.#summary(drawn, from, scoresOf(own))
        : { text: '', tokens: 0, score: null };
      return { ...summary, followed, events: own, step: drawn, done: further ? null : done };
    }
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
    return this.#attempt(this.#fork(followed.branch, { ...place, seed: this.#seed(0) }));
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

  /**
   * Summary of the tokens of a step from the cut on. Tokens that the schedule skipped count, as ones without
   * doubt; with one that cannot be scored the step is the last choice.
   */
  #summary(
    { text, to, method }: StepEvent,
    from: number,
    scores: ReadonlyMap<number, ScoreEvent>,
  ): Candidate {
    const values: number[] = [];
    for (let index = from; index < to; index++) {
      const event = scores.get(index);
      if (event?.missing?.includes(method))
        return { text, tokens: to - from, score: Number.POSITIVE_INFINITY };
      const value = event?.scores[method];
      if (value !== undefined) values.push(value);
    }
    const score = values.length > 0 ? sum(values) / (to - from) : null;
    return { text, tokens: to - from, score };
  }

  #peak({ from, to, method }: StepEvent): number {
    let peak = from;
    const at = (index: number): number => this.#scores.get(index)?.scores[method] ?? Number.NEGATIVE_INFINITY;
    for (let index = from; index < to; index++) if (at(index) > at(peak)) peak = index;
    return peak;
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

const scoresOf = (events: readonly GuardEvent[]): ReadonlyMap<number, ScoreEvent> =>
  new Map(events.flatMap((event) => (event.type === 'score.delta' ? [[event.index, event]] : [])));

/** Annotates instead if the branch cannot go on, such as after a request that leaves no room to answer. */
function fitting(intervention: Intervention, step: StepEvent, branch: Branch): Intervention {
  const fits =
    intervention.action === 'rollback'
      ? branch.fits(intervention.from, '')
      : intervention.action !== 'reflect' || branch.fits(step.to, requestAfter(step, intervention.text));
  return fits ? intervention : { action: 'annotate' };
}

/** Request on a line of its own, or at least separated by white space. */
const requestAfter = ({ text }: StepEvent, request: string): string =>
  /\s$/.test(text) ? request : `\n${request}`;

/** Two steps as one, with the verdict of the worse. */
function joined(first: StepEvent, second: StepEvent): StepEvent {
  const worse = (second.risk ?? 0) >= (first.risk ?? 0) ? second : first;
  const flagged = first.flagged || second.flagged;
  return {
    ...worse,
    step: first.step,
    from: first.from,
    to: second.to,
    text: first.text + second.text,
    flagged,
  };
}
