import type { Run } from '../run.js';
import { checkResponses } from './check.js';
import { generateResponses } from './generate.js';
import { locateSteps } from './locate.js';
import { sampleResponses } from './sample.js';
import { scoreResponses } from './score.js';
import { timeMeasures } from './time.js';

/** In the order in which they run. */
export const STAGES = ['generate', 'check', 'locate', 'sample', 'score', 'time', 'evaluate'] as const;
export type StageName = (typeof STAGES)[number];

/** Each goes on where it was, and does nothing where all is done. */
const WORK: Readonly<Record<Exclude<StageName, 'evaluate'>, (run: Run) => Promise<void>>> = {
  generate: generateResponses,
  check: checkResponses,
  locate: locateSteps,
  sample: sampleResponses,
  score: scoreResponses,
  time: timeMeasures,
};

export async function runStages(run: Run, stages: readonly StageName[]): Promise<void> {
  for (const stage of STAGES) {
    if (stage !== 'evaluate' && stages.includes(stage)) await WORK[stage](run);
  }
}
