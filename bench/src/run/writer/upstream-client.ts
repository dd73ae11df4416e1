import { setTimeout } from 'node:timers/promises';
import {
  credentialsOf,
  UpstreamError,
  type UpstreamRequest,
  UpstreamServer,
  UsageError,
  upstreamModelSchema,
  VocabularyMismatch,
} from 'flinch/internals';
import pRetry, { AbortError } from 'p-retry';

/** A server and the option that names it: options of its model and key begin alike. */
export interface UpstreamOptions {
  readonly option: '--upstream' | '--completer';
  /** Up to and with `/v1`. */
  readonly url: string;
  /** Name of the model at the server. */
  readonly model: string;
}

/**
 * The server that these options name; `null` if there is none.
 * @throws UsageError for options that do not go together
 */
export function upstreamOptions(
  option: UpstreamOptions['option'],
  url: string | undefined,
  model: string | undefined,
): UpstreamOptions | null {
  if (url !== undefined && model === undefined)
    throw new UsageError(`${option}-model: is required with ${option}`);
  if (url !== undefined && model !== undefined) return { option, url, model };
  if (model !== undefined) throw new UsageError(`${option}: is required with ${option}-model`);
  return null;
}

/**
 * Retries of a request if the server is gone, overloaded or failing: some five minutes, for one that is
 * restarted.
 */
const RETRIES = 12;
const MAX_WAIT_MS = 60_000;

/** A server with many requests before this one is slow to begin. */
const TIMEOUTS = { first_byte_s: 1800, idle_s: 600 };

/** An OpenAI-compatible server that is asked with patience, by the gateway's client: what it can do is probed. */
export class UpstreamClient {
  readonly #server: UpstreamServer;
  readonly #place: string;
  #closed = false;

  /** @throws UsageError for an address or a key that cannot be used */
  constructor(options: UpstreamOptions) {
    const { option, url, model } = options;
    const { upstreams, timeouts } = read(options);
    const credentials = credentialsOf(upstreams[0]!, process.env, option);
    this.#server = new UpstreamServer({ url, model, ...credentials, timeouts });
    this.#place = `${option}: ${url}`;
  }

  /** @throws UsageError that names option and server */
  ask<T>(work: (server: UpstreamServer) => Promise<T>, signal: AbortSignal): Promise<T> {
    return pRetry(
      async () => {
        try {
          return await work(this.#server);
        } catch (error) {
          signal.throwIfAborted();
          if (this.#closed) throw new AbortError(`${this.#place}: closed`);
          throw await explained(error, this.#place, signal);
        }
      },
      { retries: RETRIES, minTimeout: 500, maxTimeout: MAX_WAIT_MS, signal },
    );
  }

  /** What is under way fails, and is not asked again. */
  close(): void {
    this.#closed = true;
    this.#server.close();
  }
}

/** Environment variables with the key of a server. */
const KEYS = { '--upstream': 'FLINCH_UPSTREAM_KEY', '--completer': 'FLINCH_COMPLETER_KEY' } as const;

/** The gateway's configuration of one server. */
function read({ option, url, model }: UpstreamOptions) {
  const key_env = KEYS[option];
  const server = { url, model, ...(process.env[key_env] !== undefined && { key_env }) };
  const read = upstreamModelSchema.safeParse({ upstreams: [server], timeouts: TIMEOUTS });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new UsageError(`${option}${issue?.path.at(-1) === 'model' ? '-model' : ''}: ${issue?.message}`);
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

/** Capabilities that were probed. */
export type Capabilities = NonNullable<UpstreamServer['capabilities']>;

/** Sampling by temperature and top_p alone, as far as the server lets itself be told. */
export const plainSampling = (
  { temperature, topP, seed }: { readonly temperature: number; readonly topP: number; readonly seed: number },
  { tokenIds }: Capabilities,
): Pick<UpstreamRequest, 'fields' | 'sampling'> => ({
  fields: UNRESTRICTED[tokenIds],
  sampling: { temperature, topP, ...(tokenIds !== 'none' && { topK: 0 }), seed },
});

/** Servers restrict sampling unless told otherwise, vLLM as the checkpoint says; others refuse what they do not know. */
const UNRESTRICTED: Readonly<Record<Capabilities['tokenIds'], Readonly<Record<string, unknown>>>> = {
  return_token_ids: { min_p: 0, repetition_penalty: 1 },
  return_tokens: { min_p: 0, repeat_penalty: 1 },
  none: {},
};
