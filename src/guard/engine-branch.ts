import type { Engine } from '../engine/engine.js';
import type { GenerateRequest } from '../engine/generation.js';
import { blockOf } from '../uncertainty/schedule.js';
import { SequenceScorer } from '../uncertainty/sequence-scorer.js';
import type { Scoring } from '../uncertainty/settings.js';
import { type Branch, branchOf, closeOnFailure } from './branch.js';
import { engineScorer } from './engine-scorer.js';
import { engineWriter } from './engine-writer.js';
import type { Judging } from './guarded-branch.js';

export interface EngineBranchOptions extends Judging {
  readonly scoring: Scoring;
}

/**
 * A branch that the engine writes and scores.
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
  const { promptIds, maxTokens } = request;
  const positions = promptIds.length + maxTokens;
  // The scorer first: a text that cannot be scored is refused before any token of it is out.
  const sequence = await SequenceScorer.open(engine, promptIds, scoring, positions, forks, request);
  const scorer = engineScorer(sequence, blockOf(scoring.schedule), lagTokens);
  const asked = { ...request, forks };
  const generation = await closeOnFailure(scorer, () => engine.generate(asked));
  return branchOf(engineWriter(engine, asked, generation), scorer, { ...judge, forks });
}
