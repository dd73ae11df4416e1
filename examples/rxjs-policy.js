/**
 * A guard of one's own, put together of the library's operators, without a gateway. The own parts are:
 * which steps count (those with an equation), what is done about a flagged one, and which candidate is kept.
 *
 *   node examples/rxjs-policy.js [QUESTION]
 */
import { fileURLToPath } from 'node:url';
import {
  DEFAULT_SCORING,
  Engine,
  encodePrompt,
  engineBranch,
  flagSteps,
  holdBack,
  intervene,
  lowestUncertainty,
  rateRisk,
  readCalibration,
  riskModel,
  segmentSteps,
} from 'flinch';
import { filter, from, fromEvent, lastValueFrom, map, takeUntil, tap } from 'rxjs';
import { QUESTION } from './shared.js';

const folder = fileURLToPath(new URL('../models/reasoner', import.meta.url));
const question = process.argv[2] ?? QUESTION;
const CANDIDATES = 6;

/** What a step comes to: its last number. @param {string} text */
const result = (text) => /(-?\d+)\D*$/.exec(text)?.[1];

/**
 * What at least two candidates come to, the surest of those that do; else the surest of all.
 * @type {import('flinch').Choose}
 */
const choose = (candidates) => {
  const alone = candidates.map(
    ({ text }) => candidates.filter((other) => result(other.text) === result(text)).length === 1,
  );
  if (alone.every(Boolean)) return lowestUncertainty(candidates);
  return lowestUncertainty(
    candidates.map((candidate, i) =>
      alone[i] ? { ...candidate, score: Number.POSITIVE_INFINITY } : candidate,
    ),
  );
};

/**
 * Draws a flagged step again; gives up on an answer that wavers again and again.
 * @type {import('flinch').Policy}
 */
const policy = (_, { interventions }) =>
  interventions < 4
    ? { action: 'rollback', candidates: CANDIDATES, temperature: 1, choose }
    : { action: 'stop' };

/** Headings and phrases are not judged. @type {import('rxjs').OperatorFunction<import('flinch').GuardEvent, import('flinch').GuardEvent>} */
const equationsOnly = map((event) =>
  event.type === 'step.done' ? { ...event, flagged: event.flagged && event.text.includes('=') } : event,
);

const engine = await Engine.open(folder);
try {
  const { checkpoint } = engine;
  const scoring = DEFAULT_SCORING;
  const calibration = await readCalibration(`${folder}/calibration.json`);
  const { risks } = await riskModel(checkpoint, calibration, scoring, scoring.methods);
  const request = {
    promptIds: encodePrompt(checkpoint, [{ role: 'user', content: question }]),
    sampling: { temperature: 1, seed: 1 },
  };
  const branch = engineBranch(engine, request, {
    scoring,
    forks: CANDIDATES,
    rate: rateRisk(risks),
    judge: (place) => (events) =>
      events.pipe(
        segmentSteps(place),
        flagSteps({ method: 'nll', per: 'step', rate: 0.05, risks }),
        equationsOnly,
      ),
  });
  console.log('risk   step; a flagged one is drawn again: its candidates are indented, → is kept');
  const settled = from(branch).pipe(
    intervene({ policy, seed: 1 }),
    tap((event) => {
      if (event.type !== 'rollback.done') return;
      for (const [i, { text, score }] of event.candidates.entries()) {
        const mark = i === event.chosen ? '→' : ' ';
        console.log(`     ${mark} ${text.trim()}  (mean score ${score?.toExponential(1)})`);
      }
    }),
    holdBack({ now: () => performance.now() }),
    filter((event) => event.type === 'step.done'),
    tap(({ text, risk }) => console.log(`${risk?.toFixed(3)} ${text.trim()}`)),
    takeUntil(fromEvent(process, 'SIGINT').pipe(tap(() => (process.exitCode = 130)))),
  );
  await lastValueFrom(settled, { defaultValue: null });
} finally {
  await engine.close();
}
