import type { TopToken } from '../../../src/stream/events.js';
import type { UpstreamToken } from '../upstream.js';
import { UpstreamError } from '../upstream-error.js';
import type { WrittenPart } from './beside-text.js';
import {
  asCount,
  asCounts,
  asList,
  asNumber,
  asObject,
  asText,
  type Json,
  limited,
  listOf,
} from './wire-json.js';

/** Reading the log-probabilities of a server's message, in the forms that servers have for them. */

/** `logprobs` of a choice; `null` for none. */
export function tokensOf(logprobs: Json | null, most?: number): UpstreamToken[] | null {
  if (!logprobs) return null;
  const { content, refusal } = logprobs;
  return entriesOf(content, most) ?? entriesOf(refusal, most) ?? legacyTokens(logprobs, most);
}

/** Entries of `logprobs.content`; `null` for none at all. */
export function entriesOf(value: unknown, most?: number): UpstreamToken[] | null {
  const entries = limited(asList(value), most);
  if (!entries || entries.length === 0) return null;
  return entries.map((entry) => {
    const fields = asObject(entry) ?? {};
    const topLogprobs = (limited(asList(fields.top_logprobs)) ?? []).flatMap(
      (other) => topToken(asObject(other) ?? {}) ?? [],
    );
    // vLLM puts the token itself first.
    topLogprobs.sort(byLogprob);
    return { ...tokenOf(fields), logprob: logprobOf(fields.logprob), topLogprobs };
  });
}

/** `logprobs` of OpenAI's older completions: lists side by side. Some servers have ids in place of the texts. */
function legacyTokens(
  { tokens, token_ids, token_logprobs, top_logprobs }: Json,
  most?: number,
): UpstreamToken[] | null {
  const logprobs = limited(asList(token_logprobs), most);
  const [texts, ids] = [listOf(tokens), listOf(token_ids)];
  if (!logprobs || logprobs.length === 0 || (texts.length > 0 && texts.length !== logprobs.length))
    return null;
  const tops = listOf(top_logprobs);
  return logprobs.map((logprob, i) => ({
    ...tokenOf({ token: texts[i], id: ids[i] }),
    logprob: logprobOf(logprob),
    topLogprobs: Object.entries(asObject(tops[i]) ?? {})
      .flatMap(([token, logprob]) => topToken({ token, logprob }) ?? [])
      .sort(byLogprob),
  }));
}

/** vLLM with `return_tokens_as_token_ids` (vllm/logprobs.py), by a request or for all of them. */
const BY_ID = /^token_id:(\d+)$/;

type Token = Pick<UpstreamToken, 'id' | 'text' | 'name' | 'bytes'>;

/** A token by its text; else by its id, or by nothing: then its `name` is all that the server says of it. */
function tokenOf({ token, id: given, token_id, bytes: givenBytes }: Json): Token {
  const text = tokenText(token);
  const named = text === null ? null : BY_ID.exec(text);
  const id = asCount(given) ?? asCount(token_id) ?? (text === null ? asCount(token) : null);
  const bytes = asCounts(givenBytes);
  const own = bytes ? { bytes } : {};
  if (named) return { id: id ?? asCount(Number(named[1])), text: '', name: named[0], ...own };
  if (text === null) return { id, text: '', name: id === null ? '' : String(id) };
  return { id, text, ...own };
}

function topToken(fields: Json): TopToken | null {
  const logprob = logprobOf(fields.logprob);
  const token = tokenOf(fields);
  if (logprob === null || (token.name !== undefined && token.id === null)) return null;
  return token.name === undefined ? { ...token, logprob } : { ...token, text: token.name, logprob };
}

/**
 * Tokens of which no text is told, with the text that came with them: the last one has it, as of a character of several
 * tokens, and the others none.
 */
export function withText(
  tokens: UpstreamToken[] | null,
  text: string,
  parts: readonly WrittenPart[] = [],
): UpstreamToken[] | null {
  const last = tokens?.at(-1);
  if (!tokens || last?.name === undefined) return tokens;
  const own = text === '' ? parts.map((part) => part.text).join('') : text;
  return [...tokens.slice(0, -1), { ...last, text: own }];
}

/** Steps are looked for in a token at once. No vocabulary has one of this length. */
const MAX_TOKEN_CHARACTERS = 65_536;

/** @throws UpstreamError for one that is too long */
function tokenText(value: unknown): string | null {
  const text = asText(value);
  if (text === null || text.length <= MAX_TOKEN_CHARACTERS) return text;
  throw new UpstreamError('upstream_error', 'the upstream sent a token that is too long');
}

const byLogprob = (a: TopToken, b: TopToken): number => b.logprob - a.logprob;

/** Rounding may make it positive; what is above that is no log-probability. */
function logprobOf(value: unknown): number | null {
  const logprob = asNumber(value);
  return logprob === null || logprob > 1e-3 ? null : Math.min(0, logprob);
}
