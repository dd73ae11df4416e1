import type { Engine } from '../engine/engine.js';
import type { CompleteRequest, GenerateRequest, Generation } from '../engine/generation.js';
import { readTokens } from '../stream/generate.js';
import { score, type TokenScorer } from '../stream/score.js';
import { type SplitScoring, splitScoring, writtenScores } from '../stream/written-scores.js';
import { isProbability, type Method } from '../uncertainty/method-names.js';
import { blockOf } from '../uncertainty/schedule.js';
import { SequenceScorer } from '../uncertainty/sequence-scorer.js';
import { checkScoring, type Scoring } from '../uncertainty/settings.js';
import { type Branch, type BranchScorer, type BranchWriter, branchOf, closeOnFailure } from './branch.js';
import type { Judging } from './guarded-branch.js';

export interface EngineBranchOptions extends Judging {
  readonly scoring: Scoring;
}

/**
 * A branch that the engine writes and scores. Unless a score of a pass judges, the writer reports probabilities, and passes
 * follow.
 *
 * @throws EngineError; SettingsError
 *
 * @example
 * const branch = await engineBranch(engine, request, { scoring, forks: 4, rate: rateRisk(risks), judge });
 */
export async function engineBranch(
  engine: Engine,
  request: GenerateRequest,
  { scoring, method, forks, lagTokens, ...judge }: EngineBranchOptions,
): Promise<Branch> {
  checkScoring(scoring);
  // Where it is not known which method judges, any may.
  const split = splitScoring(scoring, method ?? scoring.methods.find((each) => !isProbability(each)));
  const asked = { ...engine.complete(request), forks, statistics: split.written.length > 0 };
  // The scorer first: a text that cannot be scored is refused before any token of it is out.
  const scorer = await scorerOf(engine, asked, split, lagTokens);
  const generation = await closeOnFailure(scorer.later ?? scorer, () => engine.generate(asked));
  return branchOf(engineWriter(asked, generation), scorer, { ...judge, forks });
}

async function scorerOf(
  engine: Engine,
  request: CompleteRequest,
  { written, passes }: SplitScoring,
  lagTokens?: number,
): Promise<BranchScorer> {
  if (passes === null) return writtenScorer(written, []);
  const { promptIds, maxTokens, forks } = request;
  const positions = promptIds.length + maxTokens;
  const follow = written.length > 0;
  const sequence = await SequenceScorer.open(
    engine,
    promptIds,
    passes,
    positions,
    follow ? 0 : forks, // what passes follow is never taken back
    request,
  );
  if (!follow) return engineScorer(sequence, blockOf(passes.schedule), lagTokens);
  return { ...writtenScorer(written, passes.methods), later: sequence };
}

/** Scores come with the tokens, also with those of continuations. */
function writtenScorer(methods: readonly Method[], pending: readonly Method[]): BranchScorer {
  const scorer: BranchScorer = {
    score: () => writtenScores(methods, pending),
    fork: async () => scorer,
    close: () => {},
  };
  return scorer;
}

/** Part of `SequenceScorer` that a branch uses. */
export interface ForkableScorer extends TokenScorer {
  /** Scores another continuation of the first `keep` tokens of the response. */
  fork(keep: number): Promise<ForkableScorer>;
}

/**
 * The engine scores. Continuations go on from copies of its keys and values.
 *
 * @param block the most tokens that a score may be behind, the schedule's block
 * @param lagTokens tokens that may wait for a pass before blocks are passed over; by default the text waits
 */
export function engineScorer(sequence: ForkableScorer, block: number, lagTokens?: number): BranchScorer {
  const kept: TokenScorer = {
    push: (tokens) => sequence.push(tokens),
    finish: () => sequence.finish(),
    passOver: (tokens) => sequence.passOver(tokens),
    close: () => {}, // it may be forked after its end
  };
  return {
    score: (scoring) => score({ open: async () => kept, block, lagTokens, ...scoring }),
    fork: async (keep) => engineScorer(await sequence.fork(keep), block, lagTokens),
    close: () => sequence.close(),
  };
}

/** The engine writes. Continuations go on from copies of its keys and values. */
export function engineWriter(request: CompleteRequest, generation: Generation): BranchWriter {
  const promptTokens = request.promptIds.length;
  return {
    promptTokens,
    get cachedTokens() {
      return generation.cachedTokens;
    },
    get written() {
      return generation.written;
    },
    tokens: (gate) => readTokens(generation, promptTokens, gate),
    fits: (keep) => keep < request.maxTokens,
    fork: async (_, { from, temperature, seed }) => {
      const sampling = { ...request.sampling, seed, ...(temperature !== undefined && { temperature }) };
      const fork = await generation.fork({ keep: from, sampling });
      return engineWriter(request, fork);
    },
    close: () => generation.cancel(),
  };
}
