import type { Engine } from '../../../src/engine/engine.js';
import { type Branch, type BranchScorer, branchOf, closeOnFailure } from '../../../src/guard/branch.js';
import { engineScorer } from '../../../src/guard/engine-branch.js';
import type { Judging } from '../../../src/guard/guarded-branch.js';
import { blockOf } from '../../../src/uncertainty/schedule.js';
import { SequenceScorer } from '../../../src/uncertainty/sequence-scorer.js';
import type { Scoring } from '../../../src/uncertainty/settings.js';
import { ApiError } from '../../errors/api-error.js';
import type { GenerationAgreement } from '../alignment/agreement.js';
import { type Opened, UpstreamWriter, type UpstreamWriterOptions } from '../servers/upstream-writer.js';
import { comparedScorer } from './compared-scorer.js';

export interface ScoredBranchOptions extends Pick<UpstreamWriterOptions, 'request' | 'prompt' | 'signal'> {
  /** The same weights; only its score side is used. */
  readonly engine: Engine;
  readonly ask: () => Promise<Opened>;
  /** Ids by the scorer's template; `null` if it has none: then the server sends them. */
  readonly promptIds: readonly number[] | null;
  readonly client: string;
  readonly scoring: Scoring;
  readonly agreement: GenerationAgreement;
}

/**
 * A branch that a server writes and a checkpoint of the same weights scores.
 *
 * @throws EngineError; SettingsError; UpstreamError; ApiError; RangeError if the ids of the prompt are unknown
 */
export async function scoredBranch(options: ScoredBranchOptions, judging: Judging): Promise<Branch> {
  const { engine, ask, promptIds: expected, request, prompt, signal } = options;
  // The scorer first: for a text that cannot be scored no server is asked.
  const first = expected && (await openScorer(options, judging, expected));
  const opened = await closeOnFailure(first, ask);
  return closeOnFailure({ close: () => opened.answer.cancel() }, async () => {
    const promptIds = opened.answer.promptIds ?? expected;
    if (!promptIds) throw new RangeError('promptIds: known neither to the server nor to the scorer');
    const same = first !== null && sameIds(promptIds, expected);
    // The server's template is not the scorer's: what counts is the prompt that the server read.
    if (!same) first?.close();
    const scorer = same ? first : await openScorer(options, judging, promptIds);
    return closeOnFailure(scorer, async () => {
      const { tokenizer } = engine.checkpoint;
      const room = roomOf(options, promptIds);
      const writer = new UpstreamWriter(opened, { request, tokenizer, promptIds, prompt, room, signal });
      return branchOf(writer, scorer, judging);
    });
  });
}

/** How many tokens the response may have, counted by the scorer. */
function roomOf({ engine, request }: ScoredBranchOptions, promptIds: readonly number[]): number {
  const left = engine.contextLength - promptIds.length;
  const { maxTokens } = request;
  // A text that is tokenised anew may come to a few more tokens than it was written in.
  return maxTokens === undefined ? left : Math.min(left, maxTokens + Math.ceil(maxTokens / 4) + 8);
}

async function openScorer(
  options: ScoredBranchOptions,
  { forks, lagTokens }: Judging,
  promptIds: readonly number[],
): Promise<BranchScorer> {
  const { engine, scoring, client, agreement } = options;
  const room = roomOf(options, promptIds);
  if (room < 1) {
    const { contextLength } = engine;
    const message = `messages: ${promptIds.length} tokens leave no room in the context length of ${contextLength} of the scorer`;
    throw new ApiError('context_length_exceeded', message, 'messages');
  }
  const positions = promptIds.length + room;
  const sequence = await SequenceScorer.open(engine, promptIds, scoring, positions, forks, { client });
  sequence.readAhead(); // while the server reads its own
  const compared = comparedScorer(sequence, agreement, scoring.methods);
  return engineScorer(compared, blockOf(scoring.schedule), lagTokens);
}

const sameIds = (a: readonly number[], b: readonly number[] | null): boolean =>
  a.length === b?.length && a.every((id, i) => id === b[i]);
