import { type Checkpoint, FlowGate, type WrittenEvent } from 'flinch';
import { type UpstreamRequest, type UpstreamServer, UpstreamWriter, UsageError } from 'flinch/internals';
import { lastValueFrom, toArray } from 'rxjs';
import { type Capabilities, plainSampling, UpstreamClient, type UpstreamOptions } from './upstream-client.js';
import type { Question, Writer, Written } from './writer.js';

/**
 * An OpenAI-compatible server writes. A server that takes token ids gets the prompt as ids, so that it reads what is
 * scored; any other gets the messages, and its own template.
 * @throws UsageError for an address or a key that cannot be used
 */
export function upstreamWriter(checkpoint: Checkpoint, options: UpstreamOptions): Writer {
  const client = new UpstreamClient(options);
  return {
    kind: 'upstream',
    close: () => client.close(),
    write: (question, signal) => client.ask((server) => write(server, checkpoint, question, signal), signal),
  };
}

async function write(
  server: UpstreamServer,
  { tokenizer, eosTokenIds, chatTemplate }: Checkpoint,
  question: Question,
  signal: AbortSignal,
): Promise<Written> {
  const { promptIds, maxTokens } = question;
  const capabilities = await server.probe();
  if (chatTemplate.source === null && capabilities.resume !== 'tokens')
    throw new UsageError('the server takes no token ids, and --model has no chat template');
  const request = requestOf(question, capabilities);
  const answer = await server.open(request, signal);
  if (request.prompt === undefined && answer.promptIds && !sameIds(answer.promptIds, promptIds)) {
    answer.cancel();
    throw new UsageError(`the server's chat template reads ${question.id} otherwise than that of --model`);
  }
  const room = maxTokens + Math.ceil(maxTokens / 4) + 8;
  const writer = new UpstreamWriter(
    { server, answer },
    { request, tokenizer, promptIds, prompt: null, room, signal },
  );
  return writtenOf(await lastValueFrom(writer.tokens(new FlowGate()).pipe(toArray())), eosTokenIds);
}

function requestOf(
  { messages, promptIds, temperature, topP, maxTokens, seed, stop }: Question,
  capabilities: Capabilities,
): UpstreamRequest {
  const { logprobs, resume } = capabilities;
  return {
    messages,
    ...(resume === 'tokens' && { prompt: promptIds }),
    ...plainSampling({ temperature, topP, seed }, capabilities),
    maxTokens,
    stop,
    topLogprobs: 0,
    ...(logprobs === null && { withoutLogprobs: true }),
  };
}

/** @throws UsageError for a response of which some tokens are not known: it cannot be scored */
function writtenOf(events: readonly WrittenEvent[], eosTokenIds: readonly number[]): Written {
  const [tokenIds, tokenTexts, logprobs]: [number[], string[], (number | null)[]] = [[], [], []];
  let finish: string | null = null;
  for (const event of events) {
    if (event.type === 'generation.done') finish = event.finishReason;
    if (event.type === 'upstream.delta' && event.unscored.length > 0)
      throw new UsageError(
        `the server sends ${event.unscored.join(', ')} apart from the text; turn off its parsers of reasoning and tools`,
      );
    if (event.type !== 'token.delta') continue;
    if (event.id === null) throw new UsageError('the server does not tell all tokens that it has written');
    tokenIds.push(event.id);
    tokenTexts.push(event.text);
    logprobs.push(event.logprob);
  }
  if (finish !== 'stop' && finish !== 'length')
    throw new UsageError(`the server ended a response with finish_reason ${JSON.stringify(finish)}`);
  if (finish === 'stop' && tokenTexts.at(-1) === '' && eosTokenIds.includes(tokenIds.at(-1)!))
    for (const list of [tokenIds, tokenTexts, logprobs]) list.pop();
  return { tokenIds, tokenTexts, finish, ...(logprobs.some((one) => one !== null) && { logprobs }) };
}

const sameIds = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i]);
