import { type Branch, type BranchJudge, branchOf } from '../../../src/guard/branch.js';
import type { Method } from '../../../src/uncertainty/method-names.js';
import { type Opened, UpstreamWriter, type UpstreamWriterOptions } from '../servers/upstream-writer.js';
import { logprobScorer } from './logprob-scorer.js';

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
