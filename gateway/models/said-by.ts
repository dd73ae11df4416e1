import { type JsonValue, query } from 'jsonpath-rfc9535';
import { isRecord } from '../../src/files/json.js';
import { excessOf } from '../../src/files/json-bounds.js';
import { finalAnswer } from '../../src/guard/final-answer.js';
import { linearRegex } from '../../src/guard/linear-regex.js';
import type { Said } from '../../src/guard/vote.js';
import type { VoteConfig } from '../policy/vote-schema.js';

const FENCED = /^```\w*\n([\s\S]*)```$/;
/** Characters of an answer's end that are searched. */
const MOST_CHARACTERS = 2 ** 15;
/** Names and values of an answer in JSON: a path may take time in proportion to their square. */
const MOST_VALUES = 2000;

/**
 * What an answer says, for comparing answers: what the operator's expression finds in it, or else {@link finalAnswer}. An
 * answer in which it finds nothing says nothing.
 */
export function saidBy({ regex, json_path: path }: VoteConfig): (text: string) => Said {
  if (regex !== undefined) {
    const { last } = linearRegex(regex);
    return (text) => last(text.slice(-MOST_CHARACTERS))?.trim() || null;
  }
  return path === undefined ? finalAnswer : (text) => saidAt(path, text);
}

/** The values at a path in an answer of JSON. */
function saidAt(path: string, text: string): Said {
  const trimmed = text.trim();
  const json = jsonOf(FENCED.exec(trimmed)?.[1] ?? trimmed);
  const found = json === undefined ? [] : query(json, path);
  return found.length > 0 ? JSON.stringify(found, sorted) : null;
}

/** `undefined` for a text that is no JSON, or too much of it. */
function jsonOf(text: string): JsonValue | undefined {
  if (excessOf(text, { values: MOST_VALUES }) !== null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Objects are equal whatever the order of their keys. */
const sorted = (_: string, value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
