import {
  retryAfterSeconds,
  UpstreamError,
  type UpstreamErrorCode,
  type UpstreamErrorOptions,
} from '../upstream-error.js';
import type { Exchange } from './exchange.js';
import { asCount, asList, asObject, asText, parseObject } from './wire-json.js';

const MAX_BODY_BYTES = 64 << 10;
const MAX_TEXT = 300;

export interface RefusalOptions {
  /** Strings that must not be in a text that clients see: the key, the host. */
  readonly secrets: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Error for an answer of another status than 200. Reads its body only if clients are told its contents. */
export async function refusalOf(
  exchange: Exchange,
  { secrets, now }: RefusalOptions,
): Promise<UpstreamError> {
  const { status } = exchange;
  const body = REFUSED.has(status) ? await bodyOf(exchange) : '';
  const retryAfterS = retryAfterSeconds(exchange.header('retry-after'), now);
  return refusal(status, body, { secrets, retryAfterS });
}

/**
 * Refusal in an answer, or the first event of a stream, after status 200: vLLM checks some fields only once the request is
 * with its engine. `null` for an event that refuses nothing.
 */
export function refusalWithin(
  message: string,
  { secrets }: Pick<RefusalOptions, 'secrets'>,
): UpstreamError | null {
  if (message.length > MAX_BODY_BYTES) return null;
  const status = asCount(asObject(parseObject(message)?.error)?.code);
  return status !== null && status >= 400 && status < 600
    ? refusal(status, message, { secrets, retryAfterS: null })
    : null;
}

const REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);

function refusal(
  status: number,
  body: string,
  { secrets, retryAfterS }: { readonly secrets: readonly string[]; readonly retryAfterS: number | null },
): UpstreamError {
  const error = (code: UpstreamErrorCode, message: string, more: UpstreamErrorOptions = {}): UpstreamError =>
    new UpstreamError(code, message, { reason: `HTTP ${status}`, ...more });
  if (REFUSED.has(status)) {
    const text = clean(messageOf(body), secrets);
    const words = text === '' ? '' : `: ${text}`;
    return error('upstream_refused', `the upstream refused the request${words}`, { param: fieldOf(body) });
  }
  if (status === 401 || status === 403)
    return error('upstream_unauthorized', "the upstream did not accept the gateway's key");
  if (status === 404) return error('upstream_not_found', 'the upstream does not know the path or the model');
  if (status === 429 || status === 503)
    return error('upstream_overloaded', 'the upstream is overloaded', { retryAfterS });
  if (status >= 300 && status < 400)
    return error('upstream_error', 'the upstream answered with a redirect; redirects are not followed');
  return error('upstream_error', `the upstream answered with status ${status}`);
}

async function bodyOf(exchange: Exchange): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const until = performance.now() + exchange.patience.firstMs;
  for (;;) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) throw exchange.timeout;
    const chunk = await exchange.read(leftMs);
    if (chunk === null) break;
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return '';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** OpenAI and llama.cpp: `error.message`. Ollama: `error`. Older vLLM: `message`. FastAPI: `detail`. */
function messageOf(body: string): string {
  const object = parseObject(body);
  const detail = asObject(asList(object?.detail)?.[0]);
  return (
    asText(asObject(object?.error)?.message) ??
    asText(object?.error) ??
    asText(object?.message) ??
    asText(object?.detail) ??
    asText(detail?.msg) ??
    ''
  );
}

/** Fields that clients have under the same name. */
const FIELDS: ReadonlySet<string> = new Set([
  ...['messages', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'seed', 'stop'],
]);
/** Servers' names of the messages: `input_tokens` is vLLM's, for a prompt that is longer than the context. */
const OF_MESSAGES = ['prompt', 'input_tokens'];

/** OpenAI and vLLM: `error.param`, at times after `body.`. llama.cpp: `error.type` of a prompt that is too long. */
function fieldOf(body: string): string | null {
  const error = asObject(parseObject(body)?.error);
  if (asText(error?.type) === 'exceed_context_size_error') return 'messages';
  const [name = ''] = /^\w+/.exec((asText(error?.param) ?? '').replace(/^body\./, '')) ?? [];
  if (OF_MESSAGES.includes(name)) return 'messages';
  return FIELDS.has(name) ? name : null;
}

function clean(text: string, secrets: readonly string[]): string {
  let cleaned = text;
  for (const secret of secrets) {
    // Servers write host names as they like.
    if (secret !== '') cleaned = cleaned.replaceAll(new RegExp(escaped(secret), 'gi'), '***');
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is taken out
  cleaned = cleaned.replaceAll(/[\u0000-\u001f\u007f]+/g, ' ').trim();
  return cleaned.length > MAX_TEXT ? `${cleaned.slice(0, MAX_TEXT)}…` : cleaned;
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
