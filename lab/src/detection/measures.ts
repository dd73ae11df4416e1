import { DEFAULT_METHODS, type Method } from '#src/uncertainty/method-names.js';
import { DEFAULT_ALPHA, type Scoring } from '#src/uncertainty/settings.js';

/** Scores that one reading of an answer gives. */
export interface Reading {
  /** Methods by the name of the measure. */
  readonly measures: Readonly<Record<string, Method>>;
  readonly scoring: Scoring;
}

const windowed = (block: number, window: number, form: 'perturb' | 'derivative') =>
  ({ schedule: { kind: 'windowed', block, window }, alpha: DEFAULT_ALPHA, form }) as const;

const adversarial = (block: number, window: number, form: 'perturb' | 'derivative'): Reading => ({
  measures: {
    [`adversarial ${block}/${window}${form === 'derivative' ? ' derivative' : ''}`]: 'adversarial',
  },
  scoring: { methods: ['adversarial'], ...windowed(block, window, form) },
});

const random = (samples: number): Reading => ({
  measures: { [`random ${samples}`]: 'random' },
  scoring: {
    methods: ['random'],
    ...windowed(8, 64, 'derivative'),
    random: { sigma: 1e-3, samples, seed: 0 },
  },
});

/** Adv. Pert. by block and window, beside what the probabilities say. */
export const READINGS: readonly Reading[] = [
  {
    measures: { 'adversarial 8/64': 'adversarial', nll: 'nll', entropy: 'entropy', margin: 'margin' },
    scoring: { methods: DEFAULT_METHODS, ...windowed(8, 64, 'perturb') },
  },
  adversarial(16, 32, 'perturb'),
  adversarial(16, 32, 'derivative'),
  random(3),
];
