import { randomInt } from 'node:crypto';
import { type Logger, pino } from 'pino';
import type { Observable } from 'rxjs';
import type { Engine } from '../src/engine/engine.js';
import { samplingDefaults } from '../src/engine/sampler.js';
import { encodePrompt } from '../src/model/checkpoint.js';
import { TemplateError } from '../src/model/errors.js';
import type { GuardEvent } from '../src/stream/events.js';
import type { FlowGate } from '../src/stream/flow-gate.js';
import { generate } from '../src/stream/generate.js';
import { checkGuard, neverFires, retracts, type Guard as StreamGuard } from '../src/stream/guard.js';
import { guardedGeneration } from '../src/stream/guarded-generation.js';
import { absoluteScoring, DEFAULT_RANDOM, DEFAULT_TOKUR, type Scoring } from '../src/uncertainty/settings.js';
import { ApiError } from './errors.js';
import type { GenerationFields, Guard } from './request.js';
import { RiskModels } from './risk-models.js';

/** The settings in force, as clients are told: relative sizes made absolute. */
export interface GuardInForce extends Guard {
  readonly alpha: number;
  /** Whether flags go by a calibration of this model under these settings; not there without a guard. */
  readonly calibrated?: boolean;
  /** For people: of which methods no calibration holds, and whether the rate is one at which nothing is flagged. */
  readonly warnings?: readonly string[];
}

/** A generation that is ready to start. */
export interface Prepared {
  readonly model: string;
  readonly engine: Engine;
  readonly guard: GuardInForce;
  readonly promptTokens: number;
  /** Starts it; unsubscribing cancels. Errors with an EngineError. */
  readonly start: (gate: FlowGate) => Observable<GuardEvent>;
}

/** The models that the gateway serves, by name. */
export class Models {
  readonly created = Math.floor(Date.now() / 1000);
  readonly #engines: ReadonlyMap<string, Engine>;
  readonly #risks: ReadonlyMap<Engine, RiskModels>;

  private constructor(engines: ReadonlyMap<string, Engine>, risks: ReadonlyMap<Engine, RiskModels>) {
    this.#engines = engines;
    this.#risks = risks;
  }

  /**
   * Reads what calibrations the models have.
   * @throws ModelError for one that cannot be read; it names file and field
   */
  static async open(
    engines: ReadonlyMap<string, Engine>,
    logger: Logger = pino({ level: 'silent' }),
  ): Promise<Models> {
    const risks = new Map<Engine, RiskModels>();
    for (const engine of engines.values()) {
      risks.set(engine, await RiskModels.open(engine.checkpoint, logger));
    }
    return new Models(engines, risks);
  }

  get all(): ReadonlyMap<string, Engine> {
    return this.#engines;
  }

  /** @throws ApiError 404 */
  engine(name: string): Engine {
    const engine = this.#engines.get(name);
    if (engine) return engine;
    const known = [...this.#engines.keys()].join(', ');
    throw new ApiError(
      404,
      'model_not_found',
      `model: "${name}" is not served here (served: ${known})`,
      'model',
    );
  }

  /**
   * @param canRetract whether the client can be told that tokens are void; else they are held until they cannot be
   * @throws ApiError 404 for an unknown model, 400 for a prompt that does not fit or that the template refuses
   * @throws SettingsError for settings of the guard that do not fit together, or not to the model
   */
  async prepare(
    request: GenerationFields,
    { canRetract }: { readonly canRetract: boolean },
  ): Promise<Prepared> {
    const engine = this.engine(request.model);
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
      maxTokens: maxTokensOf(request, room),
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
    const scoring = await absoluteScoring(scoringOf(request.guard), engine.checkpoint.embeddingRms);
    const settings = {
      ...request.guard,
      alpha: scoring.alpha,
      sigma: scoring.random?.sigma ?? request.guard.sigma,
    };
    const prepared = { model: request.model, engine, promptTokens: promptIds.length };
    if (!settings.enabled) {
      return { ...prepared, guard: settings, start: (gate) => generate(engine, asked, gate) };
    }
    const guard = guardOf(settings, canRetract);
    checkGuard(guard, scoring);
    const riskModels = this.#risksOf(engine);
    const { risks, warnings: uncalibrated } = await riskModels.of(scoring);
    const useless = neverFires(guard, risks);
    if (useless !== null) riskModels.warn(useless);
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

  #risksOf(engine: Engine): RiskModels {
    const risks = this.#risks.get(engine);
    if (!risks) throw new RangeError('an engine that was not there when the models were opened');
    return risks;
  }
}

/** The library's guard from the wire's. What a client could not take back is held until it is settled. */
function guardOf(fields: Guard, canRetract: boolean): StreamGuard {
  const { method, per, statistic, rate, action, candidates, choose, reflection } = fields;
  const temperature = fields.candidate_temperature;
  return {
    method,
    per,
    statistic,
    rate,
    delivery: retracts(action) && !canRetract ? 'held' : fields.delivery,
    action,
    rollbackTo: fields.rollback_to,
    candidates,
    choose,
    ...(temperature !== undefined && { temperature }),
    reflection,
    maxRollbacks: fields.max_rollbacks,
  };
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

function maxTokensOf(request: GenerationFields, room: number): number {
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const asked = request[field];
    if (asked === null || asked === undefined) continue;
    if (asked > room) {
      const message = `${field}: ${asked} exceeds the ${room} tokens that the context has left after the prompt`;
      throw new ApiError(400, 'context_length_exceeded', message, field);
    }
    return asked;
  }
  return room;
}

function scoringOf({
  methods,
  schedule,
  block,
  window,
  epsilon,
  alpha,
  derivative,
  sigma,
  samples,
  ...guard
}: Guard): Scoring {
  return {
    methods,
    alpha,
    schedule:
      schedule === 'lazy' ? { kind: schedule, block, window, epsilon } : { kind: schedule, block, window },
    form: derivative ? 'derivative' : 'perturb',
    random: { sigma, samples, seed: DEFAULT_RANDOM.seed },
    tokur: {
      sigma: guard.tokur_sigma,
      samples: guard.tokur_samples,
      law: guard.tokur_law,
      seed: DEFAULT_TOKUR.seed,
    },
  };
}
