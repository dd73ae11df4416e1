import type { Gauge } from 'prom-client';
import { type Definition, MODEL } from './definition.js';
import type { Families } from './families.js';

export const CALIBRATION_ANSWERS = {
  name: 'flinch_calibration_answers',
  type: 'gauge',
  help: 'Answers of the calibration that `flinch serve --calibrate` collects while no request runs: those collected so far, and how many it will be of. Absent for models that need none.',
  labels: { model: MODEL, count: ['collected', 'planned'] },
} as const satisfies Definition;

/** How far a calibration has come. */
export class CalibrationMetrics {
  readonly #answers: Gauge<'model' | 'count'>;

  constructor(families: Families) {
    this.#answers = families.gauge(CALIBRATION_ANSWERS);
  }

  collected(model: string, collected: number, planned: number): void {
    this.#answers.set({ model, count: 'collected' }, collected);
    this.#answers.set({ model, count: 'planned' }, planned);
  }
}
