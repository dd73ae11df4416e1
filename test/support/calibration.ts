import type { Calibration, Method } from '#src/index.js';
import { calibrationSettings } from '#src/risk/calibration-settings.js';
import { ScoreCollector } from '#src/risk/score-collector.js';
import { STEP_RULE_VERSION } from '#src/steps/step-rule.js';
import { type AbsoluteScoring, DEFAULT_SCORING } from '#src/uncertainty/settings.js';

/** A fingerprint of no model. */
export const MODEL = 'ab'.repeat(32);

/** Calibration of `tokens` tokens in steps of ten, with scores that go evenly from 0 to `largest`. */
export function aCalibration(
  scoring: AbsoluteScoring = DEFAULT_SCORING,
  methods: readonly Method[] = scoring.methods,
  tokens = 1000,
  largest = 1,
): Calibration {
  const collector = new ScoreCollector(methods);
  for (let first = 0; first < tokens; first += 10) {
    const scores = Array.from({ length: 10 }, (_, i) => ({
      scores: Object.fromEntries(methods.map((method) => [method, (largest * (first + i)) / tokens])),
    }));
    const texts = scores.map(() => ({ text: 'a' }));
    collector.add({ tokens: texts, scores, steps: [{ from: 0, to: 10 }] });
  }
  return {
    stepRule: STEP_RULE_VERSION,
    settings: calibrationSettings(scoring, methods),
    collected: { answers: 'all', ...collector.counts, temperature: 1, topK: 0, topP: 1, seed: 0 },
    ...collector.distributions(),
  };
}
