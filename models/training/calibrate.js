/**
 * Ordinary scores of the embedded model: of the steps before the first wrong one, which a program finds.
 *
 *     node models/training/calibrate.js MODEL [PROBLEMS] [METHODS]
 *
 * It replaces those of the methods in the model's calibration.json, and keeps the others.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstWrongStep } from '#bench/steps/first-wrong-step.js';
import { generateProblems } from '#bench/tasks/generate-problems.js';
import { TASKS } from '#bench/tasks/problem.js';
import { IN_WORDS } from '#bench/tasks/solution.js';
import { verify } from '#bench/tasks/verify.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import { Engine } from '#src/engine/engine.js';
import { readKeptCalibration } from '#src/risk/calibration-file.js';
import { calibrationSettings } from '#src/risk/calibration-settings.js';
import { ScoreCollector } from '#src/risk/score-collector.js';
import { STEP_RULE_VERSION } from '#src/steps/step-rule.js';
import { collectScores } from '#src/stream/collect-scores.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { DEFAULT_METHODS } from '#src/uncertainty/method-names.js';
import { DEFAULT_RANDOM, DEFAULT_SCORING } from '#src/uncertainty/settings.js';

/** Apart from the seeds that README.md trains and evaluates on. */
const SEED = 700_000;
const SAMPLING = { temperature: 0.2, topK: 0, topP: 1 };

const [folder = '', count = '2000', names = DEFAULT_METHODS.join()] = process.argv.slice(2);
const methods = /** @type {import('#src/uncertainty/method-names.js').Method[]} */ (names.split(','));
const problems = generateProblems({ seed: SEED, count: Number(count), tasks: TASKS });
const scoring = { ...DEFAULT_SCORING, methods, random: { ...DEFAULT_RANDOM, samples: 8 } };
const engine = await Engine.open(folder);
const requests = problems.map(({ question }, seed) => {
  // Words that nobody can foresee are doubtful by probability alone.
  const inWords = seed % 4 === 0 && methods.includes('adversarial');
  const content = inWords ? question + IN_WORDS : question;
  const promptIds = encodePrompt(engine.checkpoint, [{ role: 'user', content }]);
  return { promptIds, maxTokens: 256, sampling: { ...SAMPLING, seed } };
});
const collector = new ScoreCollector(scoring.methods);
await collectScores(engine, requests, scoring).forEach((answer) => {
  const texts = answer.tokens.map(({ text }) => text);
  const lengthOf = (/** @type {number} */ tokens) => texts.slice(0, tokens).join('').length;
  const { span } = verify(/** @type {any} */ (problems[answer.request]), texts.join(''));
  const steps = answer.steps.map(({ from, to }) => /** @type {const} */ ([lengthOf(from), lengthOf(to)]));
  collector.add(answer, firstWrongStep(span, steps) ?? steps.length);
});
const calibration = {
  stepRule: STEP_RULE_VERSION,
  settings: calibrationSettings(scoring, scoring.methods),
  collected: { answers: 'right', ...collector.counts, ...SAMPLING, seed: 0 },
  ...collector.distributions(),
};
const file = join(folder, 'calibration.json');
const before = await readKeptCalibration(file);
const others = (before?.calibrations ?? []).flatMap(({ methods: known, ...rest }) => {
  const kept = Object.entries(known).filter(([name]) => !methods.some((method) => method === name));
  return kept.length > 0 ? [{ ...rest, methods: Object.fromEntries(kept) }] : [];
});
const model = await fingerprint(engine.checkpoint);
writeFileSync(
  file,
  JSON.stringify({ ...before, format: 2, model, calibrations: [...others, calibration] }).concat('\n'),
);
console.log(calibration.collected);
await engine.close();
