import { ApiError } from '../errors/api-error.js';

/** A calibration that is made while no request runs: how far it is, and whether it was started. */
export interface IdleCalibration {
  readonly running: boolean;
  /** Answers so far. */
  readonly collected: number;
  /** Answers that it will be of. */
  readonly planned: number;
}

interface Offer extends IdleCalibration {
  readonly start: () => void;
}

/**
 * The calibrations that can be made here, as clients see them in `/v1/models`. `flinch serve` makes them, and offers them
 * for models that have none.
 */
export class IdleCalibrations {
  readonly #offers = new Map<string, Offer>();

  /** @param start called once at most, when the calibration is to begin */
  offer(model: string, counts: Pick<IdleCalibration, 'collected' | 'planned'>, start: () => void): void {
    this.#offers.set(model, { ...counts, running: false, start });
  }

  collected(model: string, collected: number): void {
    const offer = this.#offers.get(model);
    if (offer) this.#offers.set(model, { ...offer, collected });
  }

  /** It is done, or cannot be made. */
  end(model: string): void {
    this.#offers.delete(model);
  }

  /** `null` for a model that needs none, or that cannot be calibrated here. */
  of(model: string): IdleCalibration | null {
    const offer = this.#offers.get(model);
    if (!offer) return null;
    const { running, collected, planned } = offer;
    return { running, collected, planned };
  }

  /**
   * Starts it, unless it runs.
   * @throws ApiError 404 where {@link of} is `null`
   */
  start(model: string): IdleCalibration {
    const offer = this.#offers.get(model);
    if (!offer) throw new ApiError('not_found', `there is no calibration to make here for ${model}`);
    const started = { ...offer, running: true };
    this.#offers.set(model, started);
    if (!offer.running) offer.start();
    const { running, collected, planned } = started;
    return { running, collected, planned };
  }
}
