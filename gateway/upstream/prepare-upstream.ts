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
import type { ScoredResponse, Scorer, Writing } from './scoring/scorer.js';
import type { UpstreamGenerations } from './servers/upstream-generations.js';
import {
  prefixOf,
  requestOf,
  tells,
  topLogprobsOf,
  topLogprobsWarnings,
} from './servers/upstream-request.js';
import type { UpstreamServer } from './servers/upstream-server.js';
import { chunksOf } from './servers/verbatim.js';
import type { Capabilities, UpstreamRequest } from './upstream.js';

const ECHOED = 'with echo the answer begins with the prompt';

const UNJUDGED: BranchJudge = { forks: 0, rate: identity, judge: () => identity };

/** A model, and the capabilities of its servers. */
export interface PreparedBy {
  readonly model: string;
  readonly generations: UpstreamGenerations;
  readonly capabilities: Capabilities;
  readonly scorer: Scorer | null;
  /** Risks of one answer, without a scorer. */
  readonly risks: () => RiskModel;
}

/** What servers are asked, and what becomes of the answer. */
interface Asking extends Pick<Prepared, 'guard' | 'vocabulary' | 'scoredAtOnce' | 'verbatim'> {
  readonly asked: UpstreamRequest;
  readonly promptIds?: readonly number[] | null;
  /** State of the text before it is written. */
  readonly prefix: NonNullable<UpstreamRequest['prefix']>;
  /** Whether a server returns what the scores need. */
  readonly suits: (server: UpstreamServer) => boolean;
  readonly run: (writing: Omit<Writing, 'request' | 'seed'>, gate: FlowGate) => Observable<GuardEvent>;
}

/**
 * A response that a checkpoint of the same weights scores, else what the server's log-probabilities allow, or nothing.
 * @throws ApiError 400 for what cannot be computed, or continued; UpstreamError; SettingsError; ModelError
 */
export async function prepareUpstream(
  request: GenerationFields,
  options: PrepareOptions,
  by: PreparedBy,
): Promise<Prepared> {
  const { model, generations, capabilities, scorer } = by;
  const topLogprobs = topLogprobsOf(request, capabilities);
  const scored = isEchoed(request, options) ? null : await scorer?.prepare(request, options, capabilities);
  const asking = scored
    ? byScorer(request, options, scored, topLogprobs)
    : byLogprobs(request, options, by, topLogprobs);
  const { asked, promptIds = null, prefix, suits, run, ...prepared } = asking;
  const guard = withWarnings(prepared.guard, topLogprobsWarnings(request, topLogprobs));
  const resumes = guard.enabled && retracts(guard.action) && !asked.isResponse;
  if (resumes) generations.checkContinues(guard, prefix);
  const able = (server: UpstreamServer): boolean => suits(server) && (!resumes || server.canContinue(prefix));
  const attempt = { asked, suits: able, topLogprobs, client: options.from?.client ?? '' };
  return {
    model,
    ...prepared,
    promptTokens: promptIds?.length ?? null,
    guard: withoutRollbacks(guard, asked),
    start: (gate) => generations.start(attempt, (writing) => run(writing, gate)),
  };
}

const isEchoed = ({ echo }: GenerationFields, { asked }: PrepareOptions): boolean =>
  asked.prompt !== undefined && echo === true;

function byScorer(
  request: GenerationFields,
  options: PrepareOptions,
  { guard, vocabulary, room, promptIds, prompt, start }: ScoredResponse,
  topLogprobs: number,
): Asking {
  const { maxTokens: unasked = room } = options.bounds ?? {};
  const whole = requestOf(request, Math.min(unasked, room), options);
  const asked = {
    ...whole,
    ...(whole.maxTokens !== undefined && { maxTokens: Math.min(whole.maxTokens, room) }),
    topLogprobs,
  };
  const seed = request.seed ?? randomInt(2 ** 31);
  return {
    asked,
    guard,
    vocabulary,
    promptIds,
    prefix: {
      text: '',
      promptIds: promptIds ?? [],
      ids: [],
      raw: asked.prompt !== undefined,
      ...(prompt !== null && { prompt }),
    },
    suits: (server) =>
      tells(server, topLogprobs) &&
      (vocabulary === null || promptIds !== null || server.capabilities?.tokenIds === 'return_token_ids'),
    run: (writing, gate) => start({ ...writing, request: asked, seed }, gate),
  };
}

function byLogprobs(
  request: GenerationFields,
  options: PrepareOptions,
  { generations, capabilities, risks: ofOneAnswer }: PreparedBy,
  topLogprobs: number,
): Asking {
  const { canRetract, prompt, verbatim: asItComes } = options.asked;
  const { maxTokens, refusesUnscored } = options.bounds ?? {};
  const { written } = options.listeners ?? {};
  const echoes = isEchoed(request, options);
  const available = echoes ? [] : methodsOf(capabilities);
  const settings = logprobGuard(guardSchema.parse(request.guard), available, echoes ? ECHOED : undefined);
  if (refusesUnscored && !settings.enabled) throw generations.unstreamed ?? new UnscoredError(['tokens']);
  const methods = settings.enabled ? settings.methods : [];
  const needed = alternativesFor(methods, prompt === undefined ? 'chat' : 'completion');
  const asked: UpstreamRequest = {
    ...requestOf(request, maxTokens, options),
    topLogprobs: Math.max(topLogprobs, needed),
  };
  const common = { guard: settings, vocabulary: null, prefix: prefixOf(prompt, capabilities) };
  // A guard without any method still has a verdict: unknown.
  const isOff = request.guard.enabled === false;
  if (isOff && asItComes) {
    const lower = request.clamp && topLogprobs > 0;
    const name = prompt === undefined ? 'top_logprobs' : 'logprobs';
    const fields = lower ? { ...asked.fields, [name]: topLogprobs } : { ...asked.fields };
    // With more than any server is known to return, each may refuse it.
    const least = Math.min(topLogprobs, capabilities.logprobs ?? 0);
    return {
      ...common,
      asked: { ...asked, fields, verbatim: true, topLogprobs: 0 },
      verbatim: true,
      suits: (server) => tells(server, least),
      run: ({ ask }, gate) => from(ask()).pipe(switchMap(({ answer }) => chunksOf(answer, gate))),
    };
  }
  const suits = (server: UpstreamServer): boolean => {
    const computed = server.capabilities ? methodsOf(server.capabilities) : [];
    return tells(server, topLogprobs) && methods.every((method) => computed.includes(method));
  };
  // A prompt that is told again is no part of the length.
  const { maxTokens: _, ...unlimited } = asked;
  const expected = echoes ? unlimited : asked;
  const branchOf =
    ({ ask, signal }: Pick<Writing, 'ask' | 'signal'>) =>
    (judge: BranchJudge): Promise<Branch> =>
      logprobBranch({ ask, request: expected, signal }, methods, judge);
  const risks = ofOneAnswer();
  if (!settings.enabled) {
    const judged = isOff ? identity : judgeAnswer({ ...settings, risks });
    const run: Asking['run'] = (writing, gate) =>
      from(branchOf(writing)(UNJUDGED)).pipe(
        switchMap((branch) => branch.events(gate)),
        judged,
      );
    return { ...common, asked, suits, run };
  }
  const guard = guardOf(settings, canRetract);
  const scoring = scoringOf(settings.methods, settings.scoring);
  checkScoring(scoring);
  checkGuard(guard, scoring);
  const seed = request.seed ?? randomInt(2 ** 31);
  const judging = { scoring, guard, risks, seed, refusesUnscored, ...(written && { written }) };
  return {
    ...common,
    asked,
    suits,
    scoredAtOnce: true,
    guard: { ...settings, delivery: guard.delivery, lag: guard.lag, calibrated: false },
    run: ({ dispensable, ...writing }, gate) =>
      guardedBranch(branchOf(writing), { ...judging, dispensable }, gate),
  };
}
