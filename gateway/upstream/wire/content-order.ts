import { asList, asObject, type Json } from './json.js';

/**
 * A chunk for each run of parts of the first choice's content that are text, or are none: what follows a text stays
 * behind it. A chunk with tokens stays one, for these are of all its parts.
 */
export function inOrder(chunk: Json): readonly Json[] {
  const [choice, ...others] = (asList(chunk.choices) ?? []).map(asObject);
  const delta = asObject(choice?.delta);
  const parts = asList(delta?.content);
  const told = choice?.logprobs || asList(choice?.token_ids)?.length;
  if (!choice || !parts || parts.length < 2 || (choice.index ?? 0) !== 0 || told) return [chunk];
  const runs: unknown[][] = [];
  for (const [i, part] of parts.entries()) {
    if (i === 0 || isText(part) !== isText(parts[i - 1])) runs.push([]);
    runs.at(-1)?.push(part);
  }
  const last = runs.pop() ?? [];
  const { content: _, ...rest } = delta ?? {};
  const whole = { ...chunk, choices: [{ ...choice, delta: { ...rest, content: last } }, ...others] };
  return [...runs.map((content) => ({ choices: [{ index: 0, delta: { content } }] })), whole];
}

const isText = (part: unknown): boolean => asObject(part)?.type === 'text';
