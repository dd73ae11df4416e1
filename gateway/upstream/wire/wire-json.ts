import { ExactNumber, withExactNumbers } from '../../requests/exact-numbers.js';
import { excessOf } from '../../requests/request-bounds.js';
import { UpstreamError } from '../upstream-error.js';

/** Reading a server's JSON, whose every field may be missing or something else. */

export type Json = Readonly<Record<string, unknown>>;

export const asObject = (value: unknown): Json | null => (isObject(value) ? value : null);

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

export const asList = (value: unknown): readonly unknown[] | null => (Array.isArray(value) ? value : null);

export const listOf = (value: unknown): readonly unknown[] => asList(value) ?? [];

/**
 * Limit of tokens, choices or calls in a message. All of them are read at once, and nothing else runs
 * meanwhile.
 */
export const MAX_ENTRIES = 4096;

/** @throws UpstreamError for a list that is too long */
export function limited<T extends readonly unknown[] | null>(list: T, most = MAX_ENTRIES): T {
  if (list === null || list.length <= most) return list;
  const message = `the upstream sent more than ${most} tokens, choices or tool calls at once`;
  throw new UpstreamError('upstream_error', message);
}

/** Error for an answer whose parts, joined, would be too many. */
export const tooMany = (what: string) =>
  new UpstreamError('upstream_error', `the upstream sent more than ${what} in one answer`);

export const asText = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export function asNumber(value: unknown): number | null {
  const number = value instanceof ExactNumber ? value.value : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** Ids of tokens, bytes, or other counts; `null` unless all are. */
export function asCounts(value: unknown): readonly number[] | null {
  const list = asList(value);
  return list && isCounts(list) ? list : null;
}

const isCounts = (list: readonly unknown[]): list is readonly number[] => list.every(isCount);

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

export function asCount(value: unknown): number | null {
  const number = asNumber(value);
  return isCount(number) ? number : null;
}

/** The same object with all digits of its numbers, which the text has. */
export const exactly = (text: string, object: Json): Json =>
  asObject(withExactNumbers(text, object)) ?? object;

/** @returns `null` for a text that is no JSON, or has too much of something, too */
export function parseObject(text: string, maxLists?: number): Json | null {
  if (excessOf(text, maxLists) !== null) return null;
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The text of a content, of its parts if it has parts. */
export function textOfParts(content: unknown): string {
  const parts = asList(content)?.map(asObject);
  if (!parts) return asText(content) ?? '';
  return parts.map((part) => (part?.type === 'text' ? asText(part.text) : null) ?? '').join('');
}
