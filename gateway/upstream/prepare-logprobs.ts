import { randomInt } from 'node:crypto';
import { from, identity, type Observable, switchMap } from 'rxjs';
import type { Branch, BranchJudge } from '../../src/guard/branch.js';
import { retracts } from '../../src/guard/guard.js';
import { checkGuard, guardOf } from '../../src/guard/guard-fields.js';
import { guardedBranch } from '../../src/guard/guarded-branch.js';
import type { RiskModel } from '../../src/risk/risk.js';
import type { GuardEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { judgeAnswer } from '../../src/stream/judge-answer.js';
import { UnscoredError } from '../../src/stream/refuse-unscored.js';
import { scoringOf } from '../../src/uncertainty/scoring-fields.js';
import { checkScoring } from '../../src/uncertainty/settings.js';
import { withWarnings } from '../models/resolve-guard.js';
import type { Prepared, PrepareOptions } from '../models/served-model.js';
import type { GenerationFields } from '../requests/generation-request.js';
import { guardSchema } from '../requests/guard-limits.js';
import { logprobBranch } from './scoring/logprob-branch.js';
import { logprobGuard, withoutRollbacks } from './scoring/logprob-guard.js';
import { alternativesFor, methodsOf } from './scoring/logprob-scores.js';
import type { Writing } from './scoring/scorer.js';
import type { UpstreamGenerations } from './servers/upstream-generations.js';
import { prefixOf, requestOf, tells, topLogprobsWarnings } from './servers/upstream-request.js';
import type { UpstreamServer } from './servers/upstream-server.js';
import { chunksOf } from './servers/verbatim.js';
import type { Capabilities, UpstreamRequest } from './upstream.js';

const ECHOED = 'with echo the answer begins with the prompt';

const UNJUDGED: BranchJudge = { forks: 0, rate: identity, judge: () => identity };

/** Model of a generation, and the capabilities of its servers. */
interface Known {
  readonly model: string;
  readonly generations: UpstreamGenerations;
  readonly capabilities: Capabilities;
  readonly topLogprobs: number;
  /** Risks of one answer. */
  readonly risks: () => RiskModel;
}

/**
 * A response that is scored by what the server's log-probabilities allow, or by nothing.
 * @throws ApiError 400 for what cannot be computed, or continued
 */
export function prepareByLogprobs(
  request: GenerationFields,
  options: PrepareOptions,
  { model, generations, capabilities, topLogprobs, risks: ofOneAnswer }: Known,
): Prepared {
  const { canRetract, prompt, response, verbatim: asItComes } = options.asked;
  const { client = '' } = options.from ?? {};
  const { maxTokens, refusesUnscored } = options.bounds ?? {};
  const { written } = options.listeners ?? {};
  const lowered = topLogprobsWarnings(request, topLogprobs);
  const echoes = prompt !== undefined && request.echo === true;
  const available = echoes ? [] : methodsOf(capabilities);
  const prepared = { model, vocabulary: null, promptTokens: null };
  const guarded = logprobGuard(guardSchema.parse(request.guard), available, echoes ? ECHOED : undefined);
  const settings = withWarnings(guarded, lowered);
  if (refusesUnscored && !settings.enabled) throw generations.unstreamed ?? new UnscoredError(['tokens']);
  const methods = settings.enabled ? settings.methods : [];
  const asked: UpstreamRequest = {
    ...requestOf(request, maxTokens, options),
    topLogprobs: Math.max(
      topLogprobs,
      alternativesFor(methods, prompt === undefined ? 'chat' : 'completion'),
    ),
  };
  // A guard without any method still has a verdict: unknown.
  if (request.guard.enabled === false && asItComes) {
    const lower = request.clamp && topLogprobs > 0;
    const name = prompt === undefined ? 'top_logprobs' : 'logprobs';
    const fields = lower ? { ...asked.fields, [name]: topLogprobs } : { ...asked.fields };
    const verbatim = { ...asked, fields, verbatim: true, topLogprobs: 0 };
    // With more than any server is known to return, each may refuse it.
    const least = Math.min(topLogprobs, capabilities.logprobs ?? 0);
    const suits = (server: UpstreamServer): boolean => tells(server, least);
    return {
      ...prepared,
      guard: settings,
      verbatim: true,
      start: (gate) =>
        generations.start({ asked: verbatim, suits, topLogprobs, client }, ({ ask }) =>
          from(ask()).pipe(switchMap(({ answer }) => chunksOf(answer, gate))),
        ),
    };
  }
  const resumes = settings.enabled && retracts(settings.action) && !response;
  const prefix = prefixOf(prompt, capabilities);
  if (resumes) generations.checkContinues(settings, prefix);
  const suits = (server: UpstreamServer): boolean => {
    const computed = server.capabilities ? methodsOf(server.capabilities) : [];
    return (
      tells(server, topLogprobs) &&
      methods.every((method) => computed.includes(method)) &&
      (!resumes || server.canContinue(prefix))
    );
  };
  const seed = request.seed ?? randomInt(2 ** 31);
  // A prompt that is told again is no part of the length.
  const { maxTokens: _, ...unlimited } = asked;
  const expected = echoes ? unlimited : asked;
  const generate = (start: (open: Open, dispensable: Dispensable) => Observable<GuardEvent>) =>
    generations.start({ asked, suits, topLogprobs, client }, ({ ask, signal, dispensable }) =>
      start((judge) => logprobBranch({ ask, request: expected, signal }, methods, judge), dispensable),
    );
  const risks = ofOneAnswer();
  if (!settings.enabled) {
    return {
      ...prepared,
      guard: settings,
      start: (gate) => {
        const text = generate((open) => plain(open, gate));
        return request.guard.enabled === false ? text : text.pipe(judgeAnswer({ ...settings, risks }));
      },
    };
  }
  const guard = guardOf(settings, canRetract);
  const scoring = scoringOf(settings.methods, settings.scoring);
  checkScoring(scoring);
  checkGuard(guard, scoring);
  const judging = {
    scoring,
    guard,
    risks,
    seed,
    refusesUnscored,
    ...(written && { written }),
  };
  return {
    ...prepared,
    scoredAtOnce: true,
    guard: withoutRollbacks(
      { ...settings, delivery: guard.delivery, lag: guard.lag, calibrated: false },
      asked,
    ),
    start: (gate) => generate((open, dispensable) => guardedBranch(open, { ...judging, dispensable }, gate)),
  };
}

type Dispensable = Writing['dispensable'];

type Open = (judge: BranchJudge) => Promise<Branch>;

function plain(open: Open, gate: FlowGate): Observable<GuardEvent> {
  return from(open(UNJUDGED)).pipe(switchMap((branch) => branch.events(gate)));
}
