import { type UpstreamServer, UsageError } from 'flinch/internals';
import type { Completed, Completer, CompletionRequest } from '../../rollouts/completer.js';
import type { Suite } from '../../suites/suite.js';
import { messagesOf } from '../problem-prompt.js';
import { plainSampling, UpstreamClient, type UpstreamOptions } from './upstream-client.js';

/**
 * An OpenAI-compatible server goes on with responses. It may run any model: it gets messages and text, and its text is
 * all that is read.
 * @throws UsageError for an address or a key that cannot be used
 */
export function upstreamCompleter(
  options: UpstreamOptions,
  suite: Pick<Suite, 'messages'>,
  system: string | null,
): Completer {
  const client = new UpstreamClient(options);
  return {
    close: () => client.close(),
    complete: (request, signal) =>
      client.ask((server) => complete(server, request, { suite, system, signal }), signal),
  };
}

interface CompleterOptions {
  readonly suite: Pick<Suite, 'messages'>;
  readonly system: string | null;
  readonly signal: AbortSignal;
}

async function complete(
  server: UpstreamServer,
  { problem, beginning: { text, maxTokens }, temperature, topP, seed }: CompletionRequest,
  { suite, system, signal }: CompleterOptions,
): Promise<Completed> {
  const capabilities = await server.probe();
  const prefix = { text, promptIds: null, ids: null };
  if (!server.canContinue(prefix))
    throw new UsageError('the server cannot go on with a response that has begun');
  const answer = await server.open(
    {
      messages: messagesOf(suite, problem, system),
      ...plainSampling({ temperature, topP, seed }, capabilities),
      maxTokens,
      stop: [],
      topLogprobs: 0,
      withoutLogprobs: true,
      // An empty message would be one that has ended.
      ...(text !== '' && { prefix }),
    },
    signal,
  );
  let [completion, counted] = ['', 0];
  for (let pieces = await answer.read(); pieces; pieces = await answer.read()) {
    for (const piece of pieces) {
      completion += piece.text;
      counted += piece.tokens?.length ?? 1;
    }
  }
  const { finishReason, usage } = answer.end();
  const tokens = usage?.completionTokens ?? counted;
  return { text: completion, tokens, finish: finishReason === 'length' ? 'length' : 'stop' };
}
