/**
 * The same as self-correction.js without a gateway, by the library's operators: a policy of one's own decides about each
 * spike. Here only digits are drawn again, and an answer that wavers a third time is given up.
 *
 *   node examples/spike-policy.js [QUESTION]
 */
import { fileURLToPath } from 'node:url';
import {
  DEFAULT_GUARD,
  DEFAULT_SCORING,
  Engine,
  encodePrompt,
  guardedGeneration,
  majority,
  readCalibration,
  riskModel,
} from 'flinch';
import { fromEvent, lastValueFrom, takeUntil, tap } from 'rxjs';
import { QUESTION } from './shared.js';

const folder = fileURLToPath(new URL('../models/reasoner', import.meta.url));
const question = process.argv[2] ?? QUESTION;

/** @type {string[]} */
const tokens = [];

/** @type {import('flinch').SpikePolicy} */
const spikePolicy = ({ index }, { interventions }) => {
  if (!/\d/.test(tokens[index] ?? '')) return { action: 'annotate' };
  if (interventions === 2) return { action: 'stop' };
  return { action: 'rollback', from: index, candidates: 4, choose: majority() };
};

const engine = await Engine.open(folder);
try {
  const { checkpoint } = engine;
  const calibration = await readCalibration(`${folder}/calibration.json`);
  const { risks } = await riskModel(checkpoint, calibration, DEFAULT_SCORING, DEFAULT_SCORING.methods);
  // An action that may roll back sets memory aside for the candidates.
  /** @type {import('flinch').Guard} */
  const guard = { ...DEFAULT_GUARD, method: 'adversarial', rate: 0.005, action: 'rollback', actOn: 'spike' };
  const request = {
    ...{ scoring: DEFAULT_SCORING, guard, risks, spikePolicy },
    promptIds: encodePrompt(checkpoint, [{ role: 'user', content: question }]),
    sampling: { temperature: 1, seed: 1 },
  };
  const events = guardedGeneration(engine, request).pipe(
    tap((event) => {
      if (event.type === 'token.delta') tokens[event.index] = event.text;
      if (event.type === 'token.retracted') tokens.length = event.from;
      if (event.type === 'spike.detected') console.log(`⚡ "${tokens[event.index]}" ${event.action ?? ''}`);
      if (event.type === 'step.done') console.log(`${event.risk?.toFixed(3)} ${event.text.trim()}`);
    }),
    takeUntil(fromEvent(process, 'SIGINT').pipe(tap(() => (process.exitCode = 130)))),
  );
  await lastValueFrom(events, { defaultValue: null });
} finally {
  await engine.close();
}
