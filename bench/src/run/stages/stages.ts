import type { Suite } from '../../suites/suite.js';
import type { Run } from '../run-context.js';
import { STAGES, type StageName } from '../stage-names.js';
import { checkResponses } from './check.js';
import { judgeClaims } from './claims-stage.js';
import { generateResponses } from './generate-stage.js';
import { buildGraphs } from './graph-stage.js';
import { locateSteps } from './locate.js';
import { sampleResponses } from './sample.js';
import { scoreResponses } from './score-stage.js';
import { timeMeasures } from './time.js';

/** Each goes on where it was, and does nothing where all is done. */
const WORK: Readonly<Record<Exclude<StageName, 'evaluate'>, (run: Run) => Promise<void>>> = {
  generate: generateResponses,
  check: checkResponses,
  locate: locateSteps,
  claims: judgeClaims,
  sample: sampleResponses,
  graph: buildGraphs,
  score: scoreResponses,
  time: timeMeasures,
};

/** Stages without work, by what is judged of a response. */
const LEFT_OUT: Readonly<Record<Suite['judged'], readonly StageName[]>> = {
  answer: ['claims', 'graph'],
  claims: ['check', 'locate'],
};

/** Stages that alternate until every subset has its wrong responses. */
const IN_TURNS: readonly StageName[] = ['generate', 'check', 'locate'];

export async function runStages(run: Run, stages: readonly StageName[]): Promise<void> {
  const { responses, checks, located } = run.records;
  const known = (): number => responses.size + checks.size + located.size;
  let before: number;
  do {
    before = known();
    await work(
      run,
      stages.filter((stage) => IN_TURNS.includes(stage)),
    );
  } while (known() > before);
  await work(
    run,
    stages.filter((stage) => !IN_TURNS.includes(stage)),
  );
}

async function work(run: Run, stages: readonly StageName[]): Promise<void> {
  for (const stage of STAGES) {
    if (stage === 'evaluate' || LEFT_OUT[run.suite.judged].includes(stage)) continue;
    if (stages.includes(stage)) await WORK[stage](run);
  }
}
