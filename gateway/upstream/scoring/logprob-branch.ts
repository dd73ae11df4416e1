import { identity } from 'rxjs';
import { type Branch, type BranchJudge, type BranchScorer, branchOf } from '../../../src/guard/branch.js';
import { scoreBy } from '../../../src/stream/written-scores.js';
import type { Method } from '../../../src/uncertainty/method-names.js';
import { type Opened, UpstreamWriter, type UpstreamWriterOptions } from '../servers/upstream-writer.js';
import { logprobScores } from './logprob-scores.js';

/** Model and servers that write the response. */
export interface LogprobBranchOptions extends Pick<UpstreamWriterOptions, 'request' | 'signal'> {
  readonly ask: () => Promise<Opened>;
}

/** A branch that a server writes, scored by the log-probabilities that come with its tokens. */
export async function logprobBranch(
  { ask, request, signal }: LogprobBranchOptions,
  methods: readonly Method[],
  judge: BranchJudge,
): Promise<Branch> {
  const opened = await ask();
  const { prompt } = request;
  const promptIds = opened.answer.promptIds ?? (typeof prompt === 'object' ? prompt : null);
  const room = request.maxTokens ?? Number.POSITIVE_INFINITY;
  const writer = new UpstreamWriter(opened, {
    request,
    tokenizer: null,
    promptIds,
    room,
    signal,
    prompt: typeof prompt === 'string' ? prompt : null,
  });
  return branchOf(writer, logprobScorer(methods), judge);
}

/**
 * The log-probabilities that a server sends with its tokens are their scores.
 * @param methods those that they allow; none for a text that is not scored
 */
export function logprobScorer(methods: readonly Method[]): BranchScorer {
  const scorer: BranchScorer = {
    score: () => (methods.length === 0 ? identity : scoreBy((token) => logprobScores(token, methods))),
    fork: async () => scorer,
    close: () => {},
  };
  return scorer;
}
