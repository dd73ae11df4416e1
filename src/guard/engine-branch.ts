import type { Engine } from '../engine/engine.js';
import type { CompleteRequest, GenerateRequest } from '../engine/generation.js';
import { usesWritten, writesScores, writtenScores } from '../stream/written-scores.js';
import { blockOf } from '../uncertainty/schedule.js';
import { SequenceScorer } from '../uncertainty/sequence-scorer.js';
import { checkScoring, type Scoring } from '../uncertainty/settings.js';
import { type Branch, type BranchScorer, branchOf, closeOnFailure } from './branch.js';
import { engineScorer } from './engine-scorer.js';
import { engineWriter } from './engine-writer.js';
import type { Judging } from './guarded-branch.js';

export interface EngineBranchOptions extends Judging {
  readonly scoring: Scoring;
}

/**
 * A branch that the engine writes and scores. If only probabilities are requested, the writer reports them, and
 * there is no score pass.
 *
 * @throws EngineError; SettingsError
 *
 * @example
 * const branch = await engineBranch(engine, request, { scoring, forks: 4, rate: rateRisk(risks), judge });
 */
export async function engineBranch(
  engine: Engine,
  request: GenerateRequest,
  { scoring, forks, lagTokens, ...judge }: EngineBranchOptions,
): Promise<Branch> {
  checkScoring(scoring);
  const asked = { ...engine.complete(request), forks, statistics: usesWritten(scoring) };
  // The scorer first: a text that cannot be scored is refused before any token of it is out.
  const scorer = writesScores(scoring)
    ? writtenScorer(scoring)
    : await passScorer(engine, asked, scoring, lagTokens);
  const generation = await closeOnFailure(scorer, () => engine.generate(asked));
  return branchOf(engineWriter(asked, generation), scorer, { ...judge, forks });
}

/** Scores come with the tokens, also with those of continuations. */
function writtenScorer({ methods }: Scoring): BranchScorer {
  const scorer: BranchScorer = {
    score: () => writtenScores(methods),
    fork: async () => scorer,
    close: () => {},
  };
  return scorer;
}

async function passScorer(
  engine: Engine,
  request: CompleteRequest,
  scoring: Scoring,
  lagTokens?: number,
): Promise<BranchScorer> {
  const { promptIds, maxTokens, forks } = request;
  const positions = promptIds.length + maxTokens;
  const sequence = await SequenceScorer.open(engine, promptIds, scoring, positions, forks, request);
  return engineScorer(sequence, blockOf(scoring.schedule), lagTokens);
}
