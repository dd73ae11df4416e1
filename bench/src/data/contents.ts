import { UsageError } from 'flinch/internals';
import { parseMathTest } from '../suites/math.js';

/** Rows of MATH's test set in each subset. */
const MATH_COUNTS: Readonly<Record<string, number>> = {
  algebra: 1187,
  counting_and_probability: 474,
  geometry: 479,
  intermediate_algebra: 903,
  number_theory: 540,
  prealgebra: 871,
  precalculus: 546,
};
const ENTITIES = 500;

/** @throws UsageError unless every row is one of MATH, and every subset whole */
export function checkMathTest(text: string): void {
  const counts = new Map<string, number>();
  for (const { subset } of parseMathTest(text)) counts.set(subset, (counts.get(subset) ?? 0) + 1);
  for (const [subset, expected] of Object.entries(MATH_COUNTS)) {
    const found = counts.get(subset) ?? 0;
    if (found !== expected) throw new UsageError(`${subset} has ${found} rows, not ${expected}`);
  }
}

/** @throws UsageError unless there are 500 different lines */
export function checkEntities(text: string): void {
  const entities = new Set(text.split('\n').filter((line) => line.trim() !== ''));
  if (entities.size !== ENTITIES) throw new UsageError(`has ${entities.size} entities, not ${ENTITIES}`);
}
