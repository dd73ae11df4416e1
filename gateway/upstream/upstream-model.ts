import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import { defer, finalize, from, identity, map, type Observable, switchMap, tap } from 'rxjs';
import { type Begun, hasIds, isAnswerText } from '../../src/guard/begun.js';
import type { Branch, BranchJudge } from '../../src/guard/branch.js';
import { retracts } from '../../src/guard/guard.js';
import { checkGuard, guardOf } from '../../src/guard/guard-fields.js';
import { guardedBranch } from '../../src/guard/guarded-branch.js';
import type { GuardEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { judgeAnswer } from '../../src/stream/judge-answer.js';
import { METHODS } from '../../src/uncertainty/method-names.js';
import { scoringOf } from '../../src/uncertainty/scoring-fields.js';
import { checkScoring } from '../../src/uncertainty/settings.js';
import { Estimates } from '../models/estimates.js';
import { isEmbedded } from '../models/model-about.js';
import { checkPlace, type Places } from '../models/places.js';
import { withWarnings } from '../models/resolve-guard.js';
import type {
  Forward,
  GuardInForce,
  ModelAbout,
  ModelInside,
  ModelStatus,
  Prepared,
  PrepareOptions,
  ServedModel,
} from '../models/served-model.js';
import { checkOwnCompletion } from '../requests/completion-request.js';
import { type GenerationFields, textRequest } from '../requests/generation-request.js';
import { guardSchema } from '../requests/guard-limits.js';
import { checkOwnResponse } from '../requests/response-request.js';
import { UpstreamError } from './errors.js';
import type { Failover } from './failover.js';
import { logprobBranch } from './logprob-branch.js';
import { logprobGuard, withoutRollbacks } from './logprob-guard.js';
import { ALTERNATIVES, methodsOf } from './logprob-scores.js';
import type { ScoredResponse, Scorer, Writing } from './scorer.js';
import type { UpstreamRequest } from './upstream.js';
import { UpstreamHealth } from './upstream-health.js';
import {
  begunOf,
  invalid,
  isText,
  requestOf,
  tells,
  topLogprobsOf,
  topLogprobsWarnings,
  withTop,
} from './upstream-request.js';
import type { UpstreamServer } from './upstream-server.js';
import type { Opened } from './upstream-writer.js';
import { chunksOf } from './verbatim.js';

/** @throws ApiError 400 for what is not text alone */
function checkOwn(request: GenerationFields, { prompt, response }: PrepareOptions): void {
  if (response) checkOwnResponse(response);
  else if (prompt !== undefined) checkOwnCompletion(request);
  else textRequest(request);
}

const ECHOED = 'with echo the answer begins with the prompt';

/** Why a request is aborted whose generation has ended; made once, for every one would record where. */
const OVER = new Error('the generation is over');

const UNJUDGED: BranchJudge = { forks: 0, rate: identity, judge: () => identity };

/** A model that other servers run, scored by a checkpoint of the same weights, else by what log-probabilities allow. */
export class UpstreamModel implements ServedModel {
  readonly name: string;
  readonly #failover: Failover;
  readonly #places: Places;
  readonly #health: UpstreamHealth;
  readonly #scorer: Scorer | null;
  /** Whether requests for anything but text are refused. */
  readonly #strict: boolean;
  readonly #forwards: boolean;
  /** Without a scorer. Scores by log-probabilities depend on no settings. */
  readonly #estimates = new Estimates();
  #streams = 0;

  constructor(
    name: string,
    failover: Failover,
    {
      places,
      logger,
      scorer,
      strict = false,
      passthrough = false,
    }: {
      readonly places: Places;
      readonly logger: Logger;
      readonly scorer: Scorer | null;
      readonly strict?: boolean;
      readonly passthrough?: boolean;
    },
  ) {
    this.#strict = strict;
    this.#forwards = passthrough;
    this.name = name;
    this.#failover = failover;
    this.#places = places;
    this.#health = new UpstreamHealth(failover, logger);
    this.#scorer = scorer;
  }

  get inside(): ModelInside {
    return {
      provider: 'openai',
      ...(this.#scorer && { engine: { engine: this.#scorer.engine, processes: ['score'] } }),
      upstream: {
        look: () => this.#health.look(),
        up: () => this.#failover.servers.some(({ reachable }) => reachable),
      },
    };
  }

  get about(): ModelAbout {
    const known = this.#failover.servers.flatMap(({ capabilities }) => capabilities ?? []);
    const computed = known.flatMap(methodsOf);
    const methods = known.length === 0 ? null : METHODS.filter((method) => computed.includes(method));
    const checkpoint = this.#scorer?.engine.checkpoint;
    return {
      embedded: checkpoint !== undefined && isEmbedded(checkpoint),
      methods: checkpoint ? METHODS : methods,
      top_logprobs: known.length === 0 ? null : Math.max(...known.map(({ logprobs }) => logprobs ?? 0)),
    };
  }

  /** By the places of the upstreams in the configuration; their addresses are nobody's business. */
  status(): ModelStatus {
    const upstreams = this.#failover.servers.map(({ capabilities, lastError, reachable }) => ({
      reachable,
      capabilities,
      error: lastError?.code ?? null,
    }));
    const scorer = this.#scorer?.state;
    const ready = upstreams.some(({ reachable }) => reachable) && (scorer?.running ?? true);
    // Who asks for readiness alone would never see a server go, or come back.
    this.#health.look();
    return { ready, streams: this.#streams, upstreams, ...(scorer && { scorer }) };
  }

  async prepare(request: GenerationFields, options: PrepareOptions): Promise<Prepared> {
    const { client = '', canRetract, maxTokens, written, prompt, response, begun: told } = options;
    if (this.#strict) checkOwn(request, options);
    if (options.given) {
      if (this.#scorer) return this.#scorer.given(options.given, this.name, this.#places, request, options);
      throw invalid('model', `${this.name} has no scorer, so it scores no text that is given`);
    }
    this.#health.refresh();
    const capabilities = await this.#failover.capabilities();
    const topLogprobs = topLogprobsOf(request, capabilities);
    const lowered = topLogprobsWarnings(request, topLogprobs);
    const echoes = prompt !== undefined && request.echo === true;
    const scored = echoes ? null : await this.#scorer?.prepare(request, options, capabilities);
    if (scored) {
      const most = maxTokens === undefined ? undefined : Math.min(maxTokens, scored.room);
      const whole = requestOf(request, most, options);
      const length = whole.maxTokens !== undefined && {
        maxTokens: Math.min(whole.maxTokens, scored.room),
      };
      const guard = withWarnings(scored.guard, lowered);
      return this.#scored(
        { ...whole, ...length, topLogprobs },
        { ...scored, guard },
        { seed: request.seed, client, told },
      );
    }
    const available = echoes ? [] : methodsOf(capabilities);
    const prepared = { model: this.name, vocabulary: null, promptTokens: null };
    const guarded = logprobGuard(guardSchema.parse(request.guard), available, echoes ? ECHOED : undefined);
    const settings = withWarnings(guarded, lowered);
    const methods = settings.enabled ? settings.methods : [];
    const asked: UpstreamRequest = {
      ...requestOf(request, maxTokens, options),
      topLogprobs: Math.max(topLogprobs, methods.length > 0 ? ALTERNATIVES : 0),
    };
    // A guard that nothing can be computed for has a verdict all the same: that nobody knows.
    if (request.guard.enabled === false && options.verbatim) {
      const lower = request.clamp && topLogprobs > 0;
      const name = prompt === undefined ? 'top_logprobs' : 'logprobs';
      const fields = lower ? { ...asked.fields, [name]: topLogprobs } : { ...asked.fields };
      const verbatim = { ...asked, fields, verbatim: true, topLogprobs: 0 };
      const suits = (server: UpstreamServer): boolean => tells(server, topLogprobs);
      return {
        ...prepared,
        ...{ guard: settings, verbatim: true },
        start: (gate) =>
          this.#generate({ asked: verbatim, suits, topLogprobs, client }, ({ ask }) =>
            from(ask()).pipe(switchMap(({ answer }) => chunksOf(answer, gate))),
          ),
      };
    }
    const resumes = settings.enabled && retracts(settings.action) && !response;
    const begun = begunOf(prompt, capabilities);
    if (resumes) this.#checkContinues(settings, begun);
    const goesOn = told && { goesOn: isAnswerText(told) && isText(asked) && this.#canContinue(begun) };
    const suits = (server: UpstreamServer): boolean => {
      const computed = server.capabilities ? methodsOf(server.capabilities) : [];
      return (
        tells(server, topLogprobs) &&
        methods.every((method) => computed.includes(method)) &&
        (!(resumes || told) || server.canContinue(begun))
      );
    };
    const seed = request.seed ?? randomInt(2 ** 31);
    const elsewhere = told && { begun: told, seed };
    // A prompt that is told again is no part of the length.
    const { maxTokens: _, ...unlimited } = asked;
    const expected = echoes ? unlimited : asked;
    const generate = (start: (open: Open, dispensable: Dispensable) => Observable<GuardEvent>) =>
      this.#generate({ asked, suits, topLogprobs, client }, ({ ask, signal, dispensable }) =>
        start(
          (judge) => logprobBranch({ ask, request: expected, signal, elsewhere }, methods, judge),
          dispensable,
        ),
      );
    const risks = this.#estimates.of(client, '').ofOneAnswer();
    if (!settings.enabled) {
      return {
        ...prepared,
        ...goesOn,
        guard: settings,
        start: (gate) =>
          generate((open) =>
            request.guard.enabled === false
              ? plain(open, gate)
              : plain(open, gate).pipe(judgeAnswer({ ...settings, risks }, told?.events)),
          ),
      };
    }
    const guard = guardOf(settings, canRetract);
    const scoring = scoringOf(settings);
    checkScoring(scoring);
    checkGuard(guard, scoring);
    const judging = { scoring, guard, risks, seed, begun: told, ...(written && { written }) };
    return {
      ...prepared,
      ...goesOn,
      scoredAtOnce: true,
      guard: withoutRollbacks(
        { ...settings, delivery: guard.delivery, lag: guard.lag, calibrated: false },
        asked,
      ),
      start: (gate) =>
        generate((open, dispensable) => guardedBranch(open, { ...judging, dispensable }, gate)),
    };
  }

  #scored(
    asked: UpstreamRequest,
    scored: ScoredResponse,
    { seed: given, client, told }: ScoredAsking,
  ): Prepared {
    const { guard, promptIds, prompt, vocabulary, start } = scored;
    const begun = {
      ...{ text: '', promptIds: promptIds ?? [], ids: [], raw: asked.prompt !== undefined },
      ...(prompt !== null && { prompt }),
    };
    const resumes = retracts(guard.action) && !asked.isResponse;
    if (resumes) this.#checkContinues(guard, begun);
    const suits = (server: UpstreamServer): boolean =>
      tells(server, asked.topLogprobs) &&
      (vocabulary === null || promptIds !== null || server.capabilities?.tokenIds === 'return_token_ids') &&
      (!(resumes || told) || server.canContinue(begun));
    const seed = given ?? randomInt(2 ** 31);
    return {
      model: this.name,
      ...(told && {
        goesOn:
          (vocabulary === null || hasIds(told)) &&
          isAnswerText(told) &&
          isText(asked) &&
          this.#canContinue(begun),
      }),
      vocabulary,
      promptTokens: promptIds?.length ?? null,
      guard: withoutRollbacks(guard, asked),
      start: (gate) =>
        this.#generate({ asked, suits, topLogprobs: asked.topLogprobs, client }, (writing) =>
          start({ ...writing, request: asked, seed, elsewhere: told && { begun: told, seed } }, gate),
        ),
    };
  }

  get forward(): Forward | undefined {
    if (!this.#forwards) return undefined;
    return (request, signal) => this.#failover.first(signal, (server) => server.forward(request, signal));
  }

  /** @throws ApiError 400 where no server can go on with a text of which this is known */
  #checkContinues({ action }: GuardInForce, begun: NonNullable<UpstreamRequest['begun']>): void {
    if (this.#canContinue(begun)) return;
    const problem = `${action} requires an upstream that can continue a text; this model has none`;
    throw invalid('guard.action', problem);
  }

  #canContinue(begun: NonNullable<UpstreamRequest['begun']>): boolean {
    return this.#failover.servers.some((server) => server.canContinue(begun));
  }

  async close(): Promise<void> {
    for (const server of this.#failover.servers) server.close();
  }

  #generate(
    { asked, suits, topLogprobs, client }: Asking,
    run: (writing: Pick<Writing, 'ask' | 'signal' | 'dispensable'>) => Observable<GuardEvent>,
  ): Observable<GuardEvent> {
    return defer(() => {
      const place = this.#places.take(client);
      if (!(place instanceof Promise)) checkPlace(place, this.#places);
      this.#streams += 1;
      const abort = new AbortController();
      let opened: Opened | null = null;
      const ask = async (): Promise<Opened> => {
        if (place instanceof Promise) checkPlace(await place, this.#places);
        opened = await this.#failover.open(asked, abort.signal, suits);
        return opened;
      };
      // A continuation that the server does not write leaves the response that it has written as good as it was.
      const dispensable = (error: unknown): boolean => {
        if (!opened || !(error instanceof UpstreamError)) return false;
        this.#failover.failed(opened.server, error);
        return true;
      };
      return run({ ask, signal: abort.signal, dispensable }).pipe(
        asked.verbatim ? identity : map(withTop(topLogprobs)),
        tap({
          error: (error: unknown) => {
            if (opened && error instanceof UpstreamError) this.#failover.failed(opened.server, error);
          },
        }),
        finalize(() => {
          this.#streams -= 1;
          abort.abort(OVER);
          if (place instanceof Promise) place.then((release) => release?.());
          else place?.();
        }),
      );
    });
  }
}

type Dispensable = Writing['dispensable'];

type Open = (judge: BranchJudge) => Promise<Branch>;

interface ScoredAsking {
  readonly seed: GenerationFields['seed'];
  readonly client: string;
  /** What of the response another process has told. */
  readonly told: Begun | undefined;
}

/** What is asked, and which of the servers can do it. */
interface Asking {
  readonly asked: UpstreamRequest;
  readonly suits: (server: UpstreamServer) => boolean;
  /** Alternatives of each token that the client wants: the scores may need more. */
  readonly topLogprobs: number;
  /** For whom. */
  readonly client: string;
}

function plain(open: Open, gate: FlowGate): Observable<GuardEvent> {
  return from(open(UNJUDGED)).pipe(switchMap((branch) => branch.events(gate)));
}
