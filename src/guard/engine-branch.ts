import type { Engine } from '../engine/engine.js';
import type { GenerateRequest } from '../engine/generation.js';
import { hash32 } from '../numerics/noise.js';
import { modelId } from '../stream/score.js';
import { writesScores, writtenScores } from '../stream/written-scores.js';
import { blockOf } from '../uncertainty/schedule.js';
import { SequenceScorer } from '../uncertainty/sequence-scorer.js';
import { checkScoring, type Scoring } from '../uncertainty/settings.js';
import type { Begun } from './begun.js';
import { branchFrom } from './begun-branch.js';
import { type Branch, type BranchScorer, closeOnFailure } from './branch.js';
import { engineScorer } from './engine-scorer.js';
import { engineWriter } from './engine-writer.js';
import type { Judging } from './guarded-branch.js';

export interface EngineBranchOptions extends Judging {
  readonly scoring: Scoring;
  /** What another process has told of the response, which goes on from there. */
  readonly begun?: Begun | undefined;
}

/**
 * A request for what comes after what was told: the same seed draws the same tokens.
 * @throws RangeError for a token without an id
 */
export function requestAfter(request: GenerateRequest, { tokens, drawn }: Begun): GenerateRequest {
  const { sampling } = request;
  const { from, interventions } = drawn;
  const seed = interventions === null ? sampling.seed : hash32(sampling.seed, interventions, 0);
  const after = { ids: tokens.map(modelId), drawn: Math.max(0, tokens.length - from) };
  return { ...request, sampling: { ...sampling, seed }, after };
}

/**
 * A branch that the engine writes and scores. Where probabilities are all that is asked for, whoever writes tells them,
 * and no pass scores.
 *
 * @throws EngineError; SettingsError
 *
 * @example
 * const branch = await engineBranch(engine, request, { scoring, forks: 4, rate: rateRisk(risks), judge });
 */
export async function engineBranch(
  engine: Engine,
  request: GenerateRequest,
  { scoring, begun, forks, lagTokens, ...judge }: EngineBranchOptions,
): Promise<Branch> {
  checkScoring(scoring);
  const statistics = writesScores(scoring);
  const asked = { ...(begun ? requestAfter(request, begun) : request), forks, statistics };
  // The scorer first: a text that cannot be scored is refused before any token of it is out.
  const scorer = statistics
    ? writtenScorer(scoring)
    : await passScorer(engine, asked, scoring, begun, lagTokens);
  const generation = await closeOnFailure(scorer, () => engine.generate(asked));
  return branchFrom(begun, engineWriter(engine, asked, generation), scorer, { ...judge, forks });
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

/**
 * Has a scorer read the tokens of the steps that are settled.
 * @throws RangeError for one without an id
 */
export async function readSettled(
  sequence: Pick<SequenceScorer, 'passOver'>,
  { tokens, place }: Pick<Begun, 'tokens' | 'place'> = NOTHING,
): Promise<void> {
  const settled = tokens.slice(0, place.from).map((token) => ({ id: modelId(token) }));
  if (settled.length > 0) await sequence.passOver(settled);
}

const NOTHING = { tokens: [], place: { step: 0, from: 0 } };

async function passScorer(
  engine: Engine,
  request: GenerateRequest,
  scoring: Scoring,
  begun?: Begun,
  lagTokens?: number,
): Promise<BranchScorer> {
  const { promptIds, maxTokens, forks } = request;
  const positions = promptIds.length + maxTokens;
  const sequence = await SequenceScorer.open(engine, promptIds, scoring, positions, forks, request);
  await closeOnFailure(sequence, () => readSettled(sequence, begun));
  return engineScorer(sequence, blockOf(scoring.schedule), lagTokens);
}
