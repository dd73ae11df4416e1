import { type JsonValue, query } from 'jsonpath-rfc9535';
import { isRecord } from '../../src/files/json.js';
import { finalAnswer } from '../../src/guard/final-answer.js';
import type { Said } from '../../src/guard/vote.js';
import type { VoteConfig } from '../policy/vote-schema.js';

const FENCED = /^```\w*\n([\s\S]*?)\n?```$/;

/**
 * What an answer says, for comparing answers: what the operator's expression finds in it, or else {@link finalAnswer}. An
 * answer in which it finds nothing says nothing.
 */
export function saidBy({ regex, json_path: path }: VoteConfig): (text: string) => Said {
  if (regex !== undefined) {
    const expression = new RegExp(regex, 'gu');
    return (text) => {
      const match = [...text.matchAll(expression)].at(-1);
      return (match?.[1] ?? match?.[0])?.trim() || null;
    };
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

/** `undefined` for a text that is no JSON. */
function jsonOf(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Objects are equal whatever the order of their keys. */
const sorted = (_: string, value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
