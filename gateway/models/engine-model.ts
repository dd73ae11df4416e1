import { type Logger, pino } from 'pino';
import type { Engine } from '../../src/engine/engine.js';
import { engineBranch } from '../../src/guard/engine-branch.js';
import { guardedBranch } from '../../src/guard/guarded-branch.js';
import { generate } from '../../src/stream/generate.js';
import { ApiError } from '../errors/api-error.js';
import { checkOwnCompletion, DEFAULT_LENGTH, type Prompt } from '../requests/completion-request.js';
import { type GenerationFields, LIMITS, stopsOf, textRequest } from '../requests/generation-request.js';
import { checkOwnResponse } from '../requests/response-request.js';
import { givenAnswer } from './given-answer.js';
import { aboutCheckpoint } from './model-about.js';
import { lengthWarnings, maxTokensOf, promptOf, rawPromptOf, roomAfter } from './request-prompt.js';
import { guardInForce, withWarnings } from './resolve-guard.js';
import { RiskModels } from './risk-models.js';
import type {
  ModelAbout,
  ModelInside,
  ModelStatus,
  Prepared,
  PrepareOptions,
  ServedModel,
} from './served-model.js';
import { inSlot, ownSlots, type Slots } from './slots.js';

/** A checkpoint that the gateway runs itself. */
export class EngineModel implements ServedModel {
  readonly name: string;
  readonly #engine: Engine;
  readonly #risks: RiskModels;
  readonly #slots: Slots;

  private constructor(name: string, engine: Engine, risks: RiskModels, slots: Slots) {
    this.name = name;
    this.#engine = engine;
    this.#risks = risks;
    this.#slots = slots;
  }

  /**
   * Reads the model's calibration. The caller starts and closes the engine.
   * @param name name in requests
   * @param places no more than the engine has; by default all that it has are taken as they come
   * @throws ModelError for one that cannot be read; it names file and field
   */
  static async open(
    name: string,
    engine: Engine,
    logger: Logger = pino({ level: 'silent' }),
    slots: Slots = ownSlots(Number.POSITIVE_INFINITY),
  ): Promise<EngineModel> {
    return new EngineModel(name, engine, await RiskModels.open(engine.checkpoint, logger), slots);
  }

  get inside(): ModelInside {
    return { provider: 'flinch', engine: { engine: this.#engine, processes: ['decode', 'score'] } };
  }

  get about(): ModelAbout {
    return { ...aboutCheckpoint(this.#engine.checkpoint, this.#risks), top_logprobs: LIMITS.topLogprobs };
  }

  status(): ModelStatus {
    const status = this.#engine.status();
    const ready = status.decode.device !== undefined && status.score.device !== undefined;
    return { ready, ...(!ready && { problem: 'its engine is not running' }), ...status };
  }

  async prepare(request: GenerationFields, options: PrepareOptions): Promise<Prepared> {
    const { prompt, response, given, canRetract } = options.asked;
    const { client = '', further } = options.from ?? {};
    const { maxTokens } = options.bounds ?? {};
    const { written } = options.listeners ?? {};
    const engine = this.#engine;
    if (response) checkOwnResponse(response);
    if (given) {
      const { ids: promptIds } = await promptOf(engine, textRequest(request).messages);
      const scoring = { engine, promptIds, risks: this.#risks, slots: this.#slots };
      return givenAnswer(given, { model: this.name, guard: request.guard, ...scoring }, options);
    }
    const { promptIds, unasked } =
      prompt === undefined
        ? { promptIds: (await promptOf(engine, textRequest(request).messages)).ids, unasked: maxTokens }
        : await completionOf(engine, request, prompt, maxTokens);
    const room = roomAfter(engine, promptIds);
    const asked = engine.complete({
      client,
      promptIds,
      maxTokens: maxTokensOf(request, room, unasked),
      stop: stopsOf(request),
      topLogprobs: request.top_logprobs ?? 0,
      sampling: {
        temperature: request.temperature ?? undefined,
        topK: request.top_k ?? undefined,
        topP: request.top_p ?? undefined,
        seed: typeof request.seed === 'number' ? request.seed | 0 : undefined,
      },
    });
    const { settings, judging } = await guardInForce(request.guard, {
      checkpoint: engine.checkpoint,
      risks: this.#risks,
      client,
      further,
      canRetract,
      lag: 'wait', // writing and scoring share the machine
    });
    // Every token gets a score from an engine, unless scoring may fall behind.
    const refusesUnscored = options.bounds?.refusesUnscored && judging?.guard.lag === 'skip';
    const vocabulary = engine.checkpoint.tokenizer;
    const guard = withWarnings(settings, lengthWarnings(request, room));
    return {
      model: this.name,
      vocabulary,
      promptTokens: promptIds.length,
      guard,
      start: (gate) =>
        inSlot(this.#slots, client, () => {
          if (!judging) return generate(engine, asked, gate);
          const { scoring } = judging;
          return guardedBranch(
            (judge) => engineBranch(engine, asked, { scoring, ...judge }),
            {
              ...judging,
              seed: asked.sampling.seed,
              refusesUnscored,
              ...(written && { written }),
            },
            gate,
          );
        }),
    };
  }
}

/** @throws ApiError 400 */
async function completionOf(
  engine: Engine,
  request: GenerationFields,
  prompt: Prompt,
  maxTokens = DEFAULT_LENGTH,
): Promise<{ readonly promptIds: readonly number[]; readonly unasked: number }> {
  checkOwnCompletion(request);
  const promptIds = await rawPromptOf(engine, prompt);
  if (promptIds) return { promptIds, unasked: Math.min(maxTokens, DEFAULT_LENGTH) };
  const problem =
    "messages: it is unknown which tokens this model's tokenizer puts before a text; send token ids";
  throw new ApiError('unsupported_parameter', problem, 'messages');
}
