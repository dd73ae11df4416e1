import { randomInt } from 'node:crypto';
import { type Logger, pino } from 'pino';
import type { Engine } from '../src/engine/engine.js';
import { samplingDefaults } from '../src/engine/sampler.js';
import { TemplateError } from '../src/model/errors.js';
import { encodePrompt } from '../src/model/prompt.js';
import { generate } from '../src/stream/generate.js';
import { checkGuard, neverFires } from '../src/stream/guard.js';
import { guardedGeneration } from '../src/stream/guarded-generation.js';
import { METHODS } from '../src/uncertainty/method.js';
import { absoluteScoring, DEFAULT_RANDOM } from '../src/uncertainty/settings.js';
import { ApiError } from './errors.js';
import { guardOf, scoringOf } from './guard-settings.js';
import { completeGuard, type GenerationFields } from './request.js';
import { RiskModels } from './risk-models.js';
import type { ModelStatus, Prepared, PrepareOptions, ServedModel } from './served-model.js';

/** A checkpoint that the gateway runs itself. */
export class EngineModel implements ServedModel {
  readonly name: string;
  readonly #engine: Engine;
  readonly #risks: RiskModels;

  private constructor(name: string, engine: Engine, risks: RiskModels) {
    this.name = name;
    this.#engine = engine;
    this.#risks = risks;
  }

  /**
   * Reads what calibration the model has. The engine stays the caller's, to start and to close.
   * @param name by which requests ask for it
   * @throws ModelError for one that cannot be read; it names file and field
   */
  static async open(
    name: string,
    engine: Engine,
    logger: Logger = pino({ level: 'silent' }),
  ): Promise<EngineModel> {
    return new EngineModel(name, engine, await RiskModels.open(engine.checkpoint, logger));
  }

  status(): ModelStatus {
    const status = this.#engine.status();
    return { ready: status.decode.pid !== undefined && status.score.pid !== undefined, ...status };
  }

  async prepare(request: GenerationFields, { canRetract, maxTokens }: PrepareOptions): Promise<Prepared> {
    const engine = this.#engine;
    const promptIds = promptOf(engine, request);
    const room = engine.contextLength - promptIds.length;
    if (room < 1) {
      const message = `messages: ${promptIds.length} tokens leave no room in the context of ${engine.contextLength}`;
      throw new ApiError(400, 'context_length_exceeded', message, 'messages');
    }
    const { generation, eosTokenIds } = engine.checkpoint;
    const defaults = samplingDefaults(generation);
    const asked = {
      promptIds,
      maxTokens: maxTokensOf(request, room, maxTokens),
      endIds: eosTokenIds,
      stop: request.stop ?? [],
      topLogprobs: request.top_logprobs ?? 0,
      sampling: {
        temperature: request.temperature ?? defaults.temperature,
        topK: request.top_k ?? defaults.topK,
        topP: request.top_p ?? defaults.topP,
        seed: request.seed === null || request.seed === undefined ? randomInt(2 ** 31) : request.seed | 0,
      },
    };
    const fields = completeGuard(request.guard, METHODS);
    const scoring = await absoluteScoring(scoringOf(fields), engine.checkpoint.embeddingRms);
    const settings = {
      ...fields,
      alpha: scoring.alpha,
      sigma: scoring.random?.sigma ?? DEFAULT_RANDOM.sigma,
    };
    const vocabulary = engine.checkpoint.tokenizer;
    const prepared = { model: this.name, vocabulary, promptTokens: promptIds.length };
    if (!settings.enabled) {
      return { ...prepared, guard: settings, start: (gate) => generate(engine, asked, gate) };
    }
    const guard = guardOf(settings, canRetract);
    checkGuard(guard, scoring);
    const { risks, warnings: uncalibrated } = await this.#risks.of(scoring);
    const useless = neverFires(guard, risks);
    if (useless !== null) this.#risks.warn(useless);
    const warnings = useless === null ? uncalibrated : [...uncalibrated, useless];
    return {
      ...prepared,
      guard: {
        ...settings,
        delivery: guard.delivery,
        calibrated: risks.calibrated(guard.method),
        ...(warnings.length > 0 && { warnings }),
      },
      start: (gate) => guardedGeneration(engine, { ...asked, scoring, guard, risks }, gate),
    };
  }
}

function promptOf(engine: Engine, { messages }: GenerationFields): number[] {
  // Tokenising stops all streams for a while: a text that cannot possibly fit is refused unread. The factor is for
  // what a normaliser may take away.
  const { longestToken } = engine.checkpoint.tokenizer;
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
  if (characters > 4 * longestToken * engine.contextLength) {
    const message = `messages: ${characters} characters cannot fit into the context of ${engine.contextLength} tokens`;
    throw new ApiError(400, 'context_length_exceeded', message, 'messages');
  }
  try {
    return encodePrompt(engine.checkpoint, messages);
  } catch (error) {
    if (error instanceof TemplateError) {
      const message = `messages: the chat template refuses them: ${error.reason}`;
      throw new ApiError(400, 'invalid_value', message, 'messages');
    }
    throw error;
  }
}

/** @param unasked what a request that does not say gets at most */
function maxTokensOf(request: GenerationFields, room: number, unasked = room): number {
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const asked = request[field];
    if (asked === null || asked === undefined) continue;
    if (asked > room) {
      const message = `${field}: ${asked} exceeds the ${room} tokens that the context has left after the prompt`;
      throw new ApiError(400, 'context_length_exceeded', message, field);
    }
    return asked;
  }
  return Math.min(room, unasked);
}
