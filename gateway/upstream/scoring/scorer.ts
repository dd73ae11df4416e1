import type { Logger } from 'pino';
import { concatMap, defer, type Observable } from 'rxjs';
import type { Precision } from '../../../src/engine/device.js';
import type { Engine } from '../../../src/engine/engine.js';
import { guardedBranch } from '../../../src/guard/guarded-branch.js';
import type { GuardEvent, ScorerMismatchEvent } from '../../../src/stream/events.js';
import type { FlowGate } from '../../../src/stream/flow-gate.js';
import { UnscoredError } from '../../../src/stream/refuse-unscored.js';
import type { Vocabulary } from '../../../src/stream/wire.js';
import { givenAnswer } from '../../models/given-answer.js';
import type { GivenText } from '../../models/given-text.js';
import { aboutCheckpoint } from '../../models/model-about.js';
import { lengthWarnings, maxTokensOf, roomAfter } from '../../models/request-prompt.js';
import { guardInForce } from '../../models/resolve-guard.js';
import { RiskModels } from '../../models/risk-models.js';
import type { GuardInForce, ModelAbout, Prepared, PrepareOptions } from '../../models/served-model.js';
import type { Slots } from '../../models/slots.js';
import type { GenerationFields } from '../../requests/generation-request.js';
import { Agreement, type AgreementState } from '../alignment/agreement.js';
import { invalid } from '../servers/upstream-request.js';
import type { Opened } from '../servers/upstream-writer.js';
import type { Capabilities, UpstreamRequest } from '../upstream.js';
import { logprobBranch } from './logprob-branch.js';
import { scoredBranch } from './scored-branch.js';
import { conversationInput, promptInput } from './scorer-input.js';
import { checkServerScoring } from './server-scoring.js';

export interface ScorerOptions {
  readonly logger: Logger;
  /** Called for each generation in which scorer and server do not agree. */
  readonly onMismatch?: (mismatch: ScorerMismatchEvent) => void;
}

export interface ScoredResponse {
  readonly guard: GuardInForce;
  /** `null` where the scorer does not see all that the server reads, and scores nothing. */
  readonly vocabulary: Vocabulary;
  /** Tokens that there is room for after the prompt, where it is known. */
  readonly room: number;
  /** Ids by the scorer's template; `null` if it has none. */
  readonly promptIds: readonly number[] | null;
  /** The same as text; `null` also where the text alone would say something else. */
  readonly prompt: string | null;
  readonly start: (writing: Writing, gate: FlowGate) => Observable<GuardEvent>;
}

export interface Writing {
  readonly request: UpstreamRequest;
  readonly ask: () => Promise<Opened>;
  /** Other continuations are drawn by seeds that follow from it. */
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Whether a continuation that fails with this error is done without. */
  readonly dispensable: (error: unknown) => boolean;
}

const MISMATCH =
  "the scorer disagrees with the upstream's log-probabilities; its weights are probably different";

const UNVERIFIED =
  'not verified: the upstream returns no log-probabilities, so it is unknown whether the scorer has the same weights';

const UNVERIFIED_PROMPT =
  "not verified: the upstream does not return the ids of the prompt, so it is unknown whether it renders tools, tool messages and response formats as the scorer's template does";

const WAITS =
  "scores arrive only at the end: the upstream returns no token ids, and with the scorer's tokenizer it is unknown when a token is final";

/** A checkpoint of the weights that an upstream's servers run: it scores what they write. */
export class Scorer {
  readonly engine: Engine;
  readonly #risks: RiskModels;
  readonly #agreement: Agreement;

  private constructor(engine: Engine, risks: RiskModels, { logger, onMismatch }: ScorerOptions) {
    this.engine = engine;
    this.#risks = risks;
    let warned = false;
    this.#agreement = new Agreement((mismatch) => {
      const { tokens, difference, tolerance } = mismatch;
      if (!warned) logger.warn({ tokens, difference, tolerance }, MISMATCH);
      warned = true;
      onMismatch?.(mismatch);
    });
  }

  /**
   * Reads what calibration the checkpoint has. The engine stays the caller's, to start (`score`) and to close.
   * @throws ModelError for one that cannot be read; it names file and field
   */
  static async open(engine: Engine, options: ScorerOptions): Promise<Scorer> {
    return new Scorer(engine, await RiskModels.open(engine.checkpoint, options.logger), options);
  }

  get about(): Omit<ModelAbout, 'top_logprobs'> {
    return aboutCheckpoint(this.engine.checkpoint, this.#risks);
  }

  /** State for `/healthz`. */
  get state(): AgreementState & {
    readonly model: string;
    readonly running: boolean;
    readonly precision: Precision;
  } {
    const { device, precision } = this.engine.status().score;
    return {
      model: this.engine.checkpoint.name,
      running: device !== undefined,
      precision,
      ...this.#agreement.state,
    };
  }

  /**
   * Prepares an answer that the client gives, whatever its origin.
   * @throws ApiError 400; SettingsError; ModelError for a model without a template
   */
  async given(
    text: GivenText,
    model: string,
    slots: Slots,
    request: GenerationFields,
    options: PrepareOptions,
  ): Promise<Prepared> {
    const { engine } = this;
    const { promptIds } = await conversationInput(engine, request, { tokenIds: 'none' });
    if (!promptIds) throw invalid('messages', 'must be text alone, for the scorer to read them');
    const of = { model, engine, slots, risks: this.#risks, promptIds, guard: request.guard };
    const check = engine.scoresOnServers ? { check: checkServerScoring } : {};
    return givenAnswer(text, { ...of, ...check }, options);
  }

  /**
   * @param capabilities of the server that would be asked
   * @returns `null` where the guard is not enabled: nothing is scored
   * @throws ApiError 400; SettingsError; ModelError where neither side knows the ids of the prompt
   */
  async prepare(
    request: GenerationFields,
    { asked, from, bounds, listeners }: PrepareOptions,
    upstreamCapabilities: Capabilities,
  ): Promise<ScoredResponse | null> {
    const { engine } = this;
    const { prompt: raw, response, canRetract } = asked;
    const { client = '', further } = from ?? {};
    const { refusesUnscored = false } = bounds ?? {};
    const { written } = listeners ?? {};
    // Responses have no ids.
    const capabilities = response
      ? { ...upstreamCapabilities, tokenIds: 'none' as const }
      : upstreamCapabilities;
    const { settings, judging } = await guardInForce(request.guard, {
      checkpoint: engine.checkpoint,
      risks: this.#risks,
      client,
      further,
      canRetract,
      lag: refusesUnscored ? 'wait' : 'skip',
    });
    if (!judging) return null;
    if (refusesUnscored && this.#agreement.doubtful) throw new UnscoredError(['scorer_mismatch']);
    const { tokenizer } = engine.checkpoint;
    const { unseen, promptIds, prompt, certain } =
      raw === undefined
        ? await conversationInput(engine, request, capabilities, response)
        : await promptInput(engine, request, raw, capabilities);
    const room = roomAfter(engine, promptIds ?? []);
    maxTokensOf(request, room); // refuses what does not fit
    const { scoring, guard, risks } = judging;
    if (engine.scoresOnServers) checkServerScoring(scoring);
    const warnings = [
      ...(settings.warnings ?? []),
      ...lengthWarnings(request, room),
      ...(unseen === null ? [] : [unseen]),
      ...(certain || capabilities.tokenIds === 'return_token_ids' ? [] : [UNVERIFIED_PROMPT]),
      ...(capabilities.logprobs === null ? [UNVERIFIED] : []),
      ...(this.#agreement.doubtful ? [MISMATCH] : []),
      ...(capabilities.tokenIds === 'none' && tokenizer.units === null ? [WAITS] : []),
    ];
    return {
      guard: { ...settings, ...(warnings.length > 0 && { warnings }) },
      vocabulary: unseen === null ? tokenizer : null,
      room,
      promptIds,
      prompt,
      start: ({ seed, dispensable, ...writing }, gate) =>
        defer(() => {
          const agreement = this.#agreement.begin();
          const { engine } = this;
          return guardedBranch(
            (judging) =>
              unseen !== null
                ? logprobBranch(writing, scoring.methods, judging)
                : scoredBranch({
                    engine,
                    promptIds,
                    prompt,
                    client,
                    scoring,
                    agreement,
                    ...writing,
                    ...judging,
                  }),
            {
              scoring,
              guard,
              risks,
              seed,
              dispensable,
              refusesUnscored,
              ...(written && { written }),
            },
            gate,
          ).pipe(
            concatMap((event) => {
              const mismatches = agreement.take();
              if (refusesUnscored && mismatches.length > 0) throw new UnscoredError(['scorer_mismatch']);
              return [...mismatches, event];
            }),
          );
        }),
    };
  }
}
