import type { Logger } from 'pino';
import type { Precision } from '../../../src/engine/device.js';
import type { Engine } from '../../../src/engine/engine.js';
import type { ScorerMismatchEvent } from '../../../src/stream/events.js';
import type { Judge, ModelAbout } from '../../answers/served-model.js';
import { aboutCheckpoint } from '../../models/model-about.js';
import { RiskModels } from '../../models/risk-models.js';
import { Agreement, type AgreementState, type GenerationAgreement } from '../alignment/agreement.js';
import { checkServerScoring } from './server-scoring.js';

export interface ScorerOptions {
  readonly logger: Logger;
  /** Called for each generation in which scorer and server do not agree. */
  readonly onMismatch?: (mismatch: ScorerMismatchEvent) => void;
}

const MISMATCH =
  "the scorer disagrees with the upstream's log-probabilities; its weights are probably different";

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

  /** Judges answers by the scores of the checkpoint. */
  get judge(): Judge {
    const risks = this.#risks;
    if (!this.engine.scoresOnServers) return risks;
    return {
      settle: async (fields) => {
        const settled = await risks.settle(fields);
        checkServerScoring(settled.scoring);
        return settled;
      },
      rate: (...asked) => risks.rate(...asked),
      warn: (warning) => risks.warn(warning),
    };
  }

  /** Warning about scores that are probably those of another model; `null` if nothing is known against them. */
  get doubt(): string | null {
    return this.#agreement.doubtful ? MISMATCH : null;
  }

  /** Compares the scores of a generation with those of the server. */
  compare(): GenerationAgreement {
    return this.#agreement.begin();
  }
}
