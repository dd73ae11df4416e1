import { concat, EMPTY, filter, from, map, type Observable, of } from 'rxjs';
import type { Branch } from '../../src/guard/branch.js';
import { policyOf, spikePolicyOf } from '../../src/guard/guard.js';
import { type GuardedBranchOptions, guardedBranch, type Judging } from '../../src/guard/guarded-branch.js';
import type { RiskModel } from '../../src/risk/risk.js';
import type { DoneEvent, GuardEvent, TokenEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';

/** The part that stays of a response that another gateway has begun. The rest is written as its own response. */
export interface Settled {
  /** Tokens of the settled steps; all tokens if the response is not cut into steps. */
  readonly tokens: readonly TokenEvent[];
  /** The same tokens, their scores and their steps; no step is flagged, because its intervention is over. */
  readonly events: readonly GuardEvent[];
  readonly steps: number;
  /** How many of the steps were flagged. */
  readonly flagged: number;
  /** Rollbacks and reflections. */
  readonly interventions: number;
  /** Tokens that the client has: those beyond `tokens` are taken back. */
  readonly told: number;
  /** Tokens that were told, also those that were taken back. */
  readonly written: number;
}

/**
 * A guarded branch that goes on after the settled part, or one from the start. `open` has put the settled part
 * after the prompt, and the branch counts from 0. The guard sees one branch with both: the settled part, then what
 * follows it, counted on. Events that the client has are not passed on again.
 */
export function guardedAfter(
  after: Settled | undefined,
  open: (judging: Judging) => Promise<Branch>,
  options: GuardedBranchOptions,
  gate: FlowGate,
): Observable<GuardEvent> {
  if (!after) return guardedBranch(open, options, gate);
  const { guard, policy = policyOf(guard), spikePolicy = spikePolicyOf(guard), risks, written } = options;
  const guarded = guardedBranch(
    async (judging) => branchAfter(after, await open(judging)),
    {
      ...options,
      risks: risksAfter(after, risks),
      policy: (step, { interventions, ...context }) =>
        policy(step, { ...context, interventions: interventions + after.interventions }),
      spikePolicy: (spike, { interventions }) =>
        spikePolicy(spike, { interventions: interventions + after.interventions }),
      ...(written && { written: (event) => isNew(after, event) && written(event) }),
    },
    gate,
  );
  return restOf(after, guarded);
}

/** Events of the settled part, then those that follow it, which count from 0. */
export function followed(after: Settled | undefined, events: Observable<GuardEvent>): Observable<GuardEvent> {
  return after ? concat(from(after.events), events.pipe(map((event) => countedOn(after, event)))) : events;
}

/** The rest of a whole response, which the client does not have. First it is told what is retracted. */
export function restOf(after: Settled | undefined, events: Observable<GuardEvent>): Observable<GuardEvent> {
  if (!after) return events;
  const from = after.tokens.length;
  const tokens = after.told - from;
  return concat(
    tokens > 0 ? of({ type: 'token.retracted', from, tokens } as const) : EMPTY,
    events.pipe(
      filter((event) => isNew(after, event)),
      map((event) => ofWhole(after, event)),
    ),
  );
}

/** A branch after the settled part, with that part's events first; a fork of it does not repeat them. */
function branchAfter(after: Settled, branch: Branch): Branch {
  const { length } = after.tokens;
  return {
    promptTokens: before(branch.promptTokens, length),
    get cachedTokens() {
      return branch.cachedTokens && Math.min(branch.cachedTokens, this.promptTokens ?? 0);
    },
    get written() {
      return branch.written;
    },
    events: (gate) => followed(after, branch.events(gate)),
    fits: (keep, insert) => branch.fits(keep - length, insert),
    fork: async ({ keep, step, from, ...how }) => {
      const place = { keep: keep - length, step: step - after.steps, from: from - length };
      return branchAfter({ ...after, events: [] }, await branch.fork({ ...how, ...place }));
    },
    close: () => branch.close(),
  };
}

/** An event of a branch, counted on from the settled part. */
function countedOn({ tokens: { length }, steps }: Settled, event: GuardEvent): GuardEvent {
  switch (event.type) {
    case 'token.delta':
    case 'score.delta':
    case 'spike.detected':
      return { ...event, index: event.index + length };
    case 'step.done':
      return { ...event, step: event.step + steps, from: event.from + length, to: event.to + length };
    case 'upstream.delta':
      return { ...event, at: event.at + length };
    case 'generation.done':
      return { ...event, usage: usageAfter(length, event) };
    default:
      return event;
  }
}

/** Usage of the whole response: for the writer of the rest, the settled part was part of the prompt. */
function usageAfter(length: number, { usage }: DoneEvent): DoneEvent['usage'] {
  const { cachedTokens, completionTokens } = usage;
  const promptTokens = before(usage.promptTokens, length);
  return {
    promptTokens,
    completionTokens: completionTokens === null ? null : completionTokens + length,
    ...(cachedTokens !== undefined && { cachedTokens: Math.min(cachedTokens, promptTokens ?? 0) }),
  };
}

/** Tokens of a prompt without those of the settled part at its end. */
const before = (tokens: number | null, length: number): number | null =>
  tokens === null ? null : Math.max(0, tokens - length);

/** An event of a guard that knows of no interventions before. */
function ofWhole({ interventions, flagged, written }: Settled, event: GuardEvent): GuardEvent {
  if (event.type === 'rollback.started' || event.type === 'rollback.done')
    return { ...event, rollback: event.rollback + interventions };
  if (event.type !== 'generation.done') return event;
  const { usage, verdict } = event;
  const { generatedTokens: more } = usage;
  return {
    ...event,
    usage: { ...usage, ...(more !== undefined && { generatedTokens: more + written }) },
    ...(verdict && { verdict: { ...verdict, flaggedSteps: verdict.flaggedSteps + flagged } }),
  };
}

/** Risks by position in the whole response, where a risk depends on the position. */
const risksAfter = ({ tokens }: Settled, risks: RiskModel): RiskModel => ({
  calibrated: (...of) => risks.calibrated(...of),
  ofToken: (method, score, index) => risks.ofToken(method, score, index + tokens.length),
  ofStep: (...step) => risks.ofStep(...step),
  ofAnswer: (...answer) => risks.ofAnswer(...answer),
});

function isNew({ tokens, steps }: Settled, event: GuardEvent): boolean {
  if ('index' in event) return event.index >= tokens.length;
  return !('step' in event) || event.step >= steps;
}
