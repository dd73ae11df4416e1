import { type Branch, branchOf } from '../../src/guard/branch.js';
import type { Judging } from '../../src/guard/guarded-branch.js';
import type { RunningRisk } from '../../src/risk/running-risk.js';
import { UnscoredError } from '../../src/stream/refuse-unscored.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import type { Asked } from '../answers/asked.js';
import type { PerClient } from '../answers/per-client.js';
import type { Guarding, Prepared, Source } from '../answers/served-model.js';
import { logprobJudge } from './scoring/logprob-judge.js';
import { alternativesFor, logprobScorer, methodsOf } from './scoring/logprob-scores.js';
import type { Asking } from './servers/asking.js';
import { prefixOf } from './servers/upstream-request.js';
import type { UpstreamServer } from './servers/upstream-server.js';
import { type Opened, UpstreamWriter } from './servers/upstream-writer.js';
import { chunksOf } from './servers/verbatim.js';
import type { UpstreamRequest } from './upstream.js';

const ECHOED = 'with echo the answer begins with the prompt';

/** Whether the answer begins with the prompt. */
export const isEchoed = ({ fields, prompt }: Asked): boolean => prompt !== undefined && fields.echo === true;

/** An answer that a server writes, scored by what its log-probabilities allow, or not at all. */
export function logprobSource(asked: Asked, asking: Asking, estimates: PerClient<RunningRisk>): Source {
  const { verbatim: asItCame, fields, refusesUnscored } = asked;
  const available = isEchoed(asked) ? [] : methodsOf(asking.capabilities);
  // Not where the guard is on and can compute nothing: then there is a verdict, which is unknown.
  const isVerbatim = fields.guard.enabled === false && asItCame === true;
  return {
    judge: logprobJudge(available, estimates, isEchoed(asked) ? ECHOED : undefined),
    prepare: async (guarding) => {
      if (refusesUnscored && !guarding) throw asking.failover.unstreamed ?? new UnscoredError(['tokens']);
      return isVerbatim ? verbatim(asking, fields.clamp === true) : scored(asking, isEchoed(asked), guarding);
    },
  };
}

/** @throws ApiError 400 for a text that no server can continue */
function scored(asking: Asking, echoes: boolean, guarding: Guarding | null): Prepared {
  const { capabilities } = asking;
  const { prompt, topLogprobs, maxTokens } = asking.request;
  const methods = guarding?.scoring.methods ?? [];
  const needed = alternativesFor(methods, prompt === undefined ? 'chat' : 'completion');
  const request = { ...asking.request, topLogprobs: Math.max(topLogprobs, needed) };
  // A prompt that is told again is no part of the length.
  const room = echoes ? undefined : maxTokens;
  return asking.prepare({
    guarding,
    request,
    vocabulary: null,
    promptTokens: null,
    form: guarding ? 'scored' : 'tokens',
    warnings: [],
    prefix: prefixOf(prompt, capabilities),
    suits: (server) => methods.every((method) => computedBy(server).includes(method)),
    open: async (ask, judging, signal) =>
      logprobBranch(await ask(), { request, room, methods, signal }, judging),
  });
}

const computedBy = ({ capabilities }: UpstreamServer): readonly Method[] =>
  capabilities ? methodsOf(capabilities) : [];

/** The chunks of a server as they come: nothing is added to the request that only scores need. */
function verbatim(asking: Asking, isClamped: boolean): Prepared {
  const { prompt, topLogprobs, fields } = asking.request;
  const name = prompt === undefined ? 'top_logprobs' : 'logprobs';
  const lowered = { ...fields, ...(isClamped && topLogprobs > 0 && { [name]: topLogprobs }) };
  return asking.prepare({
    guarding: null,
    request: { ...asking.request, fields: lowered, verbatim: true, topLogprobs: 0 },
    vocabulary: null,
    promptTokens: null,
    form: 'chunks',
    warnings: [],
    prefix: prefixOf(prompt, asking.capabilities),
    suits: () => true,
    open: async (ask) => chunkBranch(await ask()),
  });
}

interface LogprobBranchOptions {
  readonly request: UpstreamRequest;
  /** Maximum tokens of the answer. */
  readonly room?: number | undefined;
  /** Methods that the log-probabilities allow; none for a text that is not scored. */
  readonly methods: readonly Method[];
  readonly signal: AbortSignal;
}

/** A branch that a server writes, scored by the log-probabilities that come with its tokens. */
export function logprobBranch(
  opened: Opened,
  { request, room = Number.POSITIVE_INFINITY, methods, signal }: LogprobBranchOptions,
  judging: Judging,
): Branch {
  const { prompt } = request;
  const promptIds = opened.answer.promptIds ?? (typeof prompt === 'object' ? prompt : null);
  const known = { promptIds, prompt: typeof prompt === 'string' ? prompt : null };
  const writer = new UpstreamWriter(opened, { request, tokenizer: null, ...known, room, signal });
  return branchOf(writer, logprobScorer(methods), judging);
}

const chunkBranch = ({ answer }: Opened): Branch => ({
  promptTokens: null,
  written: 0,
  events: (gate) => chunksOf(answer, gate),
  fits: () => false,
  fork: async () => {
    throw new RangeError('chunks are not continued');
  },
  close: () => answer.cancel(),
});
