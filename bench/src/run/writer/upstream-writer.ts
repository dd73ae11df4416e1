import { setTimeout } from 'node:timers/promises';
import { type Checkpoint, FlowGate, type WrittenEvent } from 'flinch';
import {
  credentialsOf,
  UpstreamError,
  type UpstreamRequest,
  UpstreamServer,
  UpstreamWriter,
  UsageError,
  upstreamModelSchema,
  VocabularyMismatch,
} from 'flinch/internals';
import pRetry, { AbortError } from 'p-retry';
import { lastValueFrom, toArray } from 'rxjs';
import type { Question, Writer, Written } from './writer.js';

export interface UpstreamOptions {
  /** Up to and with `/v1`. */
  readonly url: string;
  /** Name of the model at the server. */
  readonly model: string;
  /** The environment variable with its key. */
  readonly keyEnv?: string;
}

/**
 * Retries of a request if the server is gone, overloaded or failing: some five minutes, for one that is
 * restarted.
 */
const RETRIES = 12;
const MAX_WAIT_MS = 60_000;

/** A server with many requests before this one is slow to begin. */
const TIMEOUTS = { connect_s: 10, first_byte_s: 1800, idle_s: 600 };

/**
 * An OpenAI-compatible server writes, by the gateway's client: what it can do is probed. A server that takes token ids
 * gets the prompt as ids, so that it reads what is scored; any other gets the messages, and its own template.
 * @throws UsageError for an address or a key that cannot be used
 */
export function upstreamWriter(checkpoint: Checkpoint, { url, model, keyEnv }: UpstreamOptions): Writer {
  const { upstreams, timeouts, limits } = read(url, model, keyEnv);
  const credentials = credentialsOf(upstreams[0]!, process.env, '--upstream-key-env');
  const server = new UpstreamServer({ url, model, ...credentials, timeouts, limits });
  return {
    kind: 'upstream',
    has: () => true,
    close: () => server.close(),
    write: (question, signal) =>
      pRetry(
        async () => {
          try {
            return await write(server, checkpoint, question, signal);
          } catch (error) {
            signal.throwIfAborted();
            throw await explained(error, `--upstream: ${url}`, signal);
          }
        },
        { retries: RETRIES, minTimeout: 500, maxTimeout: MAX_WAIT_MS, signal },
      ),
  };
}

/** The gateway's configuration of one server. */
function read(url: string, model: string, keyEnv: string | undefined) {
  const server = { url, model, ...(keyEnv !== undefined && { key_env: keyEnv }) };
  const read = upstreamModelSchema.safeParse({ upstreams: [server], timeouts: TIMEOUTS });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const option = { url: '--upstream', model: '--upstream-model' }[String(issue?.path.at(-1))];
  throw new UsageError(`${option ?? '--upstream-key-env'}: ${issue?.message}`);
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

type Capabilities = NonNullable<UpstreamServer['capabilities']>;

function requestOf(
  { messages, promptIds, temperature, topP, maxTokens, seed, stop }: Question,
  { tokenIds, logprobs, resume }: Capabilities,
): UpstreamRequest {
  return {
    messages,
    ...(resume === 'tokens' && { prompt: promptIds }),
    fields: UNRESTRICTED[tokenIds],
    sampling: { temperature, topP, ...(tokenIds !== 'none' && { topK: 0 }), seed },
    maxTokens,
    stop,
    topLogprobs: 0,
    ...(logprobs === null && { untold: true }),
  };
}

/** Servers restrict sampling unless told otherwise, vLLM as the checkpoint says; others refuse what they do not know. */
const UNRESTRICTED: Readonly<Record<Capabilities['tokenIds'], Readonly<Record<string, unknown>>>> = {
  return_token_ids: { min_p: 0, repetition_penalty: 1 },
  return_tokens: { min_p: 0, repeat_penalty: 1 },
  none: {},
};

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

/** Worth another try; a server that breaks off may be restarting. */
const PASSING: readonly string[] = [
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_overloaded',
  'upstream_error',
];

async function explained(error: unknown, place: string, signal: AbortSignal): Promise<unknown> {
  if (error instanceof UpstreamError && PASSING.includes(error.code)) {
    await setTimeout(Math.min(MAX_WAIT_MS, 1000 * (error.askedWaitS ?? 0)), undefined, { signal });
    return new UsageError(`${place}: ${error.message}${error.reason ? ` (${error.reason})` : ''}`);
  }
  if (error instanceof UpstreamError || error instanceof VocabularyMismatch || error instanceof UsageError)
    return new AbortError(new UsageError(`${place}: ${error.message}`));
  return new AbortError(error instanceof Error ? error : String(error));
}

const sameIds = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i]);
