import {
  defer,
  finalize,
  from,
  identity,
  type Observable,
  type OperatorFunction,
  of,
  switchMap,
  tap,
} from 'rxjs';
import type { RiskModel } from '../risk/risk.js';
import { PartAligner } from '../steps/step-aligner.js';
import type { GenerationEvent, GuardEvent, TokenEvent } from '../stream/events.js';
import { flagSteps } from '../stream/flag-steps.js';
import { FlowGate } from '../stream/flow-gate.js';
import { holdBack } from '../stream/hold-back.js';
import { judgeAnswer } from '../stream/judge-answer.js';
import { laterScores } from '../stream/later-scores.js';
import { paced } from '../stream/paced.js';
import { rateRisk } from '../stream/rate-risk.js';
import { refuseUnscored } from '../stream/refuse-unscored.js';
import { segmentSteps } from '../stream/segment-steps.js';
import { fused } from '../stream/stage.js';
import type { Method } from '../uncertainty/method-names.js';
import { blockOf } from '../uncertainty/schedule.js';
import type { Scoring } from '../uncertainty/settings.js';
import type { Branch, BranchJudge, BranchPoint } from './branch.js';
import { type Guard, policyOf } from './guard.js';
import { checkGuard } from './guard-fields.js';
import { type InterveneOptions, intervene } from './intervene.js';
import type { Policy } from './policy.js';

/** `lag: skip`: tokens that may wait for their scores. A simulation chose it (docs/guard.md). */
const LAG_TOKENS = 32;

/** Requirements of a guard on a branch that is opened for it. */
export interface Judging extends BranchJudge {
  /** The method that steps are judged by; unless it is known, a branch tells all scores of a token at once. */
  readonly method?: Method;
  /** How many other continuations there may be at a time: memory is set aside for them. */
  readonly forks: number;
  /** See {@link ScoreOptions.lagTokens}. */
  readonly lagTokens?: number | undefined;
}

export interface GuardedBranchOptions {
  readonly scoring: Scoring;
  readonly guard: Guard;
  /** Distribution of ordinary scores: from a calibration, or learnt while running. */
  readonly risks: RiskModel;
  /** Other continuations are drawn by seeds that follow from it. */
  readonly seed: number;
  /** In place of the guard's action. */
  readonly policy?: Policy;
  /** Called with each event before steps are held back, also with events that then are not passed on. */
  readonly written?: (event: GuardEvent) => void;
  readonly dispensable?: NonNullable<InterveneOptions['dispensable']>;
  /** Whether the response ends before its first token without a score ({@link refuseUnscored}). */
  readonly refusesUnscored?: boolean | undefined;
}

/**
 * Follows a text of any writer, judges its steps and corrects it as the guard says. The branch is opened on
 * subscription, and closed at the end.
 *
 * Errors with the error of a branch, or a SettingsError that names the field.
 */
export function guardedBranch(
  open: (judging: Judging) => Promise<Branch>,
  {
    scoring,
    guard,
    risks,
    policy = policyOf(guard),
    written,
    refusesUnscored = false,
    ...correcting
  }: GuardedBranchOptions,
  gate: FlowGate = new FlowGate(),
): Observable<GuardEvent> {
  const { action, candidates, delivery, lag, method, per, rate } = guard;
  return defer(() => {
    checkGuard(guard, scoring);
    const block = blockOf(scoring.schedule);
    const lagTokens = lag === 'skip' ? Math.max(LAG_TOKENS, block) : undefined;
    const rated = rateRisk(risks);
    const judging = {
      method,
      // A rollback needs, in addition to the text that it may return to, its candidates, then the chosen one and its
      // continuation.
      forks: action === 'rollback' ? Math.max(2, candidates) : 0,
      lagTokens,
      rate: rated,
      judge: (point: BranchPoint) =>
        fused(segmentSteps<GenerationEvent>(point), flagSteps({ method, per, rate, risks })),
    };
    const follow = (branch: Branch): Observable<GuardEvent> => {
      const { later } = branch;
      const aligner = new PartAligner();
      const begins = (text: string, token: TokenEvent): boolean => aligner.begins(text, token);
      return of(branch).pipe(
        intervene({ ...correcting, policy, gate }),
        judgeAnswer({ method, rate, risks }),
        refusesUnscored ? refuseUnscored({ method }) : identity,
        later
          ? laterScores<GuardEvent>({
              open: async () => later,
              block,
              begins,
              lagTokens,
              rate: rated,
              afterSteps: true,
            })
          : identity,
      );
    };
    const guarded = whileOpen(() => open(judging), switchMap(follow));
    const observed = written ? guarded.pipe(tap(written)) : guarded;
    const now = (): number => performance.now();
    const passed = delivery === 'held' ? observed.pipe(holdBack({ now })) : observed;
    // Steps and parts that were held come at once, of whatever length an upstream makes them.
    return passed.pipe(paced(gate));
  });
}

/** The events of a branch, which is opened on subscription and closed at the end, as what scores it later. */
export function whileOpen<T>(
  open: () => Promise<Branch>,
  follow: OperatorFunction<Branch, T>,
): Observable<T> {
  return defer(() => {
    const opening = open();
    return from(opening).pipe(
      follow,
      // It is closed even if nothing waits for it any longer when it opens.
      finalize(() => {
        opening.then(
          (branch) => {
            branch.close();
            branch.later?.close();
          },
          () => {}, // it never opened; the subscriber was told
        );
      }),
    );
  });
}
