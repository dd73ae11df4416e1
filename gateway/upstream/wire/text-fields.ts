import type { Unscored } from '../../../src/stream/events.js';
import { asList, asNumber, asObject, asText, type Json, listOf } from './wire-json.js';

/** What a string of a delta is: a label, or text. Servers invent names, so that no list has all of them. */

/** Last words of names whose strings identify, classify or sign something: each mention is whole. */
const LABEL =
  /(^|[^a-z])(ids?|type|role|signature|format|status|state|reason|kind|object|model|channel|version)$/;

export const isLabel = (name: string): boolean =>
  LABEL.test(name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase());

/**
 * Strings that come in parts by definition (OpenAI's API reference, "Streaming"; vLLM, Anthropic and Mistral for the
 * reasoning), also where a part happens to be what was said before. Of any other, all that was said decides.
 */
const IN_PARTS: ReadonlySet<string> = new Set([
  ...['content', 'text', 'refusal', 'arguments', 'input', 'data', 'transcript'],
  ...['reasoning', 'reasoning_content', 'thinking'],
]);

export const comesInParts = (name: string): boolean => IN_PARTS.has(name);

export const isSaid = (value: unknown): boolean =>
  value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);

/** Whether a value can hold no text. */
export const isMute = (value: unknown): boolean =>
  asText(value) === null && asList(value) === null && asObject(value) === null;

/** The strings that are labels, by their names. */
export const labelsOf = (object: Json): Map<string, string> =>
  new Map(
    Object.entries(object).flatMap(([name, value]) =>
      typeof value === 'string' && value !== '' && isLabel(name) ? [[name, value]] : [],
    ),
  );

/** A value that begins like this is whole. */
const URL = /^[a-z][a-z\d+.-]*:\S/i;
/** Each is whole: nobody else can read where one ends. */
const SEALED = /redacted|encrypted/;

/**
 * An object that may be a part of another, with the name of its text: beside labels it has one text, or list of parts.
 * `null` for one that is whole: with numbers, addresses, objects within it or several texts.
 */
export function pieceOf(object: Json): { readonly text: string | null } | null {
  const type = asText(object.type) ?? '';
  const texts: string[] = [];
  for (const [name, value] of Object.entries(object)) {
    if (!isSaid(value) || (typeof value === 'string' && isLabel(name))) continue;
    if (!Array.isArray(value) && (typeof value !== 'string' || URL.test(value))) return null;
    texts.push(name);
  }
  const [text = null] = texts;
  const untyped = type === '' && text !== null && !comesInParts(text);
  return texts.length > 1 || SEALED.test(type) || untyped ? null : { text };
}

/** Fields whose values are of one kind, whatever they are. */
const KINDS: Readonly<Record<string, Unscored>> = {
  audio: 'audio',
  function_call: 'tool_calls',
  refusal: 'refusal',
  tool_calls: 'tool_calls',
};

const REASONING = /reason|think|thought/i;
/** No label has such a character. */
const PROSE = /[^\x21-\x7e]/;

/** Kind of what the model wrote beside its text in a field; `null` for a field that holds no text. */
export function kindOf(name: string, value: unknown): Unscored | null {
  const known = KINDS[name];
  if (known) return known;
  if (isLabel(name)) return null;
  if (REASONING.test(name)) return hasText(name, value) ? 'reasoning' : null;
  const text = asText(value);
  if (text !== null) return PROSE.test(text) ? 'content' : null;
  const object = asObject(value);
  if (object) return kindWithin(object);
  return firstKind(listOf(value).map((each) => [name, each] as const));
}

/** An object that is whole, such as an annotation, is about the text, and not written by the model. */
function kindWithin(object: Json): Unscored | null {
  const entries = Object.entries(object);
  const texts = entries.filter(([name, value]) => asText(value) && !isLabel(name));
  const whole = texts.length > 1 || entries.some(([, value]) => asNumber(value) !== null);
  return whole && typeof object.index !== 'number' ? null : firstKind(entries);
}

function firstKind(entries: readonly (readonly [string, unknown])[]): Unscored | null {
  for (const [name, value] of entries) {
    const kind = kindOf(name, value);
    if (kind !== null) return kind;
  }
  return null;
}

const hasText = (name: string, value: unknown): boolean =>
  typeof value === 'string'
    ? value !== '' && !isLabel(name)
    : Object.entries(asObject(value) ?? asList(value) ?? []).some(([own, each]) =>
        hasText(Array.isArray(value) ? name : own, each),
      );
