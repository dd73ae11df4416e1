import { asObject, type Json } from './json.js';

/** A choice of a whole completion, as far as chunks have told it. */
export interface AssembledChoice {
  readonly index: number;
  readonly message: Json;
  readonly logprobs: Json | null;
  readonly finish_reason: string | null;
  readonly [field: string]: unknown;
}

export interface Assembled {
  /** Of the completion itself, without its choices and usage: what the last chunk said of each. */
  readonly fields: Json;
  readonly usage: Json | null;
  /** By their indices. */
  readonly choices: readonly AssembledChoice[];
}

/** Given whole at each mention; other strings come in parts. */
const WHOLE: ReadonlySet<string> = new Set(['id', 'type', 'name', 'role', 'index', 'format', 'object']);

/** The whole completion that the chunks of one are parts of (OpenAI's API reference, "Streaming"). */
export function assemble(chunks: readonly Json[]): Assembled {
  let fields: Json = {};
  let usage: Json | null = null;
  const choices = new Map<number, Json>();
  // What obfuscates the length of a chunk is of no whole completion.
  for (const { choices: given, usage: counted, obfuscation: _, ...rest } of chunks) {
    fields = { ...fields, ...withoutNull(rest) };
    usage = asObject(counted) ?? usage;
    for (const choice of asObjects(given)) {
      const { delta, ...more } = choice;
      const index = typeof choice.index === 'number' ? choice.index : 0;
      const part = withoutNull({ ...more, index, message: asObject(delta) ?? {} });
      choices.set(index, joined(choices.get(index) ?? {}, part));
    }
  }
  return {
    fields,
    usage,
    choices: [...choices]
      .sort(([a], [b]) => a - b)
      .map(([index, { message, logprobs, finish_reason: reason, ...rest }]) => ({
        ...rest,
        index,
        message: withoutIndices(asObject(message) ?? {}),
        logprobs: asObject(logprobs),
        finish_reason: typeof reason === 'string' ? reason : null,
      })),
  };
}

/** Strings are joined, objects field by field, lists by the `index` of their items, else one after the other. */
function joined(before: Json, after: Json): Json {
  const names = Object.keys(after);
  return {
    ...before,
    ...Object.fromEntries(names.map((name) => [name, join(name, before[name], after[name])])),
  };
}

function join(name: string, before: unknown, after: unknown): unknown {
  if (before === undefined || before === null) return Array.isArray(after) ? join(name, [], after) : after;
  if (after === undefined || after === null) return before;
  if (name === 'finish_reason' || WHOLE.has(name)) return after;
  if (typeof before === 'string' && typeof after === 'string') return before + after;
  if (Array.isArray(before) && Array.isArray(after)) return joinLists(before, after);
  const [a, b] = [asObject(before), asObject(after)];
  return a && b ? joined(a, b) : after;
}

function joinLists(before: readonly unknown[], after: readonly unknown[]): unknown[] {
  const list = [...before];
  for (const item of after) {
    const object = asObject(item);
    const at =
      typeof object?.index === 'number'
        ? list.findIndex((other) => asObject(other)?.index === object.index)
        : -1;
    const other = asObject(list[at]);
    if (object && other) list[at] = joined(other, object);
    else list.push(item);
  }
  return list;
}

/** Of calls: a message has them in their order. */
function withoutIndices(message: Json): Json {
  if (!Array.isArray(message.tool_calls)) return message;
  const calls = asObjects(message.tool_calls).toSorted((a, b) => Number(a.index) - Number(b.index));
  return { ...message, tool_calls: calls.map(({ index: _, ...call }) => call) };
}

const withoutNull = (object: Json): Json =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null && value !== undefined));

const asObjects = (value: unknown): Json[] =>
  (Array.isArray(value) ? value : []).flatMap((item: unknown): Json[] => {
    const object = asObject(item);
    return object ? [object] : [];
  });
