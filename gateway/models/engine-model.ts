import { type Logger, pino } from 'pino';
import type { Engine } from '../../src/engine/engine.js';
import type { Asked } from '../answers/asked.js';
import type { ModelAbout, ModelInside, ModelStatus, ServedModel, Source } from '../answers/served-model.js';
import { ownSlots, type Slots } from '../answers/slots.js';
import { LIMITS, textRequest } from '../requests/generation-request.js';
import type { GivenText } from '../requests/given-text.js';
import { engineSource } from './engine-source.js';
import { givenSource } from './given-source.js';
import { aboutCheckpoint } from './model-about.js';
import { promptOf } from './request-prompt.js';
import { RiskModels } from './risk-models.js';

/** A checkpoint that the gateway runs itself. */
export class EngineModel implements ServedModel {
  readonly name: string;
  readonly slots: Slots;
  readonly #engine: Engine;
  readonly #risks: RiskModels;

  private constructor(name: string, engine: Engine, risks: RiskModels, slots: Slots) {
    this.name = name;
    this.#engine = engine;
    this.#risks = risks;
    this.slots = slots;
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

  async source(asked: Asked): Promise<Source> {
    return engineSource(asked, this.#engine, this.#risks);
  }

  async given(text: GivenText, { client, fields }: Asked): Promise<Source> {
    const engine = this.#engine;
    const promptIds = async () => (await promptOf(engine, textRequest(fields).messages)).ids;
    return givenSource(text, { client, engine, judge: this.#risks, promptIds });
  }
}
