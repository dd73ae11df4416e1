import type { z } from 'zod';

/** The first object within an answer that fits: models put JSON into fences and sentences. */
export function readJsonIn<T>(content: string, schema: z.ZodType<T>): T | null {
  for (const candidate of candidates(content)) {
    const result = schema.safeParse(candidate);
    if (result.success) return result.data;
  }
  return null;
}

/** More braces than that are no answer. */
const MAX_STARTS = 50;

function* candidates(content: string): Generator<unknown> {
  const starts = [...content.matchAll(/\{/g)].slice(0, MAX_STARTS);
  const ends = [...content.matchAll(/\}/g)].slice(-MAX_STARTS).toReversed();
  for (const { index: start } of starts) {
    for (const { index: end } of ends) {
      if (end < start) break;
      const value = parse(content.slice(start, end + 1));
      if (value !== undefined) yield value;
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the text from here to there is not JSON
  }
}

/** The longest text between double quotes, for an answer that is not JSON; `null` without one. */
export function longestQuoted(content: string): string | null {
  const quoted = Array.from(
    content.matchAll(/"((?:[^"\\]|\\.)+)"|“([^”]+)”/g),
    (match) => match[1] ?? match[2]!,
  );
  return quoted.reduce<string | null>(
    (best, each) => (best && best.length >= each.length ? best : each),
    null,
  );
}
