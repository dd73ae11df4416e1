import { measureLabel } from '#bench/report/measure-label.js';
import type { Aggregated } from './evaluation.js';
import { LENGTH, POSITION, type UnitSet } from './units.js';

/** A measure, and how its tokens' scores become one. */
export type Detector = readonly [measure: string, how: Aggregated];

const TASK_LABELS: Readonly<Record<UnitSet['task'], string>> = {
  equations: 'equations, written',
  'read-gsm8k': 'ProcessBench gsm8k, read',
  'read-math': 'ProcessBench math, read',
  questions: 'questions, answered',
};

const MODEL_LABELS: Readonly<Record<string, string>> = {
  smollm2: 'SmolLM2-135M-Instruct',
  gemma3: 'Gemma 3 270M',
  'gemma3.Q4_K_M': 'Gemma 3 270M',
};

export const HEADS: Readonly<Record<Exclude<Aggregated, 'own'>, string>> = {
  max: 'largest',
  mean: 'mean',
  sum: 'sum',
};

export const temperature = (set: UnitSet): string =>
  set.temperature === null ? '–' : `T = ${set.temperature}`;

/** Task, model and temperature. */
export const describe = (set: UnitSet): string[] => [
  TASK_LABELS[set.task],
  MODEL_LABELS[set.model] ?? set.model,
  temperature(set),
];

export const labelOf = (measure: string): string =>
  ({ [LENGTH]: 'length', [POSITION]: 'position', 'entropy-top20': 'Entropy of the 20 most likely' })[
    measure
  ] ?? measureLabel(measure);

export const detectorLabel = (measure: string, how: Aggregated): string =>
  how === 'own' ? labelOf(measure) : `${labelOf(measure)}, ${HEADS[how]}`;
