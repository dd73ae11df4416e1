import { type ResponseSize, responseWork } from '../../src/cost/scoring-work.js';
import type { Scoring } from '../../src/uncertainty/settings.js';
import { ApiError } from '../errors/api-error.js';

/**
 * @param most positions that may go through the model for a response, by `limits.work`
 * @throws ApiError 400 that names the field with the largest part in it
 */
export function checkWork(most: number | undefined, scoring: Scoring, size: ResponseSize): void {
  if (most === undefined) return;
  const { text, adversarial, random, tokur } = responseWork(scoring, size);
  // Each part is named by the field that affects it most.
  const parts = [
    ['max_tokens', text],
    ['guard.scoring.window', adversarial],
    ['guard.scoring.samples', random],
    ['guard.scoring.tokur_samples', tokur],
  ] as const;
  const work = text + adversarial + random + tokur;
  if (work <= most) return;
  const [field] = parts.reduce((a, b) => (b[1] > a[1] ? b : a));
  const advice = 'use fewer tokens or samples, a smaller window or a larger block';
  const problem = `${field}: up to ${work} positions would go through the model, more than the limit of ${most}; ${advice}`;
  throw new ApiError('invalid_value', problem, field);
}
