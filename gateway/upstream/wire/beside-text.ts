import type { Unscored } from '../../../src/stream/events.js';
import type { UpstreamPiece } from '../upstream.js';
import { isLabel, isMute, isSaid, kindOf } from './text-fields.js';
import { asCount, asList, asObject, asText, type Json, limited, listOf, textOfParts } from './wire-json.js';

type Beside = NonNullable<UpstreamPiece['beside']>;

/** A part of a chunk that the model wrote beside the text. */
export interface WrittenPart {
  readonly kind: Unscored;
  /** Text as the server reports it, which need not be as the model wrote it. */
  readonly text: string;
  /** Index of the tool call, if the server counts them. */
  readonly call?: number;
}

/** Fields that the gateway sets itself, or has asked for to score the answer. */
const OWN_OF_CHUNK: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'prompt_token_ids',
  'prompt_text',
]);
const OWN_OF_CHOICE: ReadonlySet<string> = new Set([
  'index',
  'delta',
  'text',
  'finish_reason',
  'logprobs',
  'token_ids',
  'prompt_token_ids',
]);
const OWN_OF_DELTA: ReadonlySet<string> = new Set(['role', 'content']);

const NOTHING = { beside: null, parts: [] } as const;

/**
 * Parts of a chunk beside the text of its first choice: tool calls, reasoning, refusals, other choices, and
 * every unknown field.
 */
export function besideText(chunk: Json): {
  readonly beside: Beside | null;
  readonly parts: readonly WrittenPart[];
} {
  const all = listOf(chunk.choices);
  if (all.length < 2 && isText(chunk, asObject(all[0]) ?? {})) return NOTHING;
  const choices = all.flatMap((choice): Json[] => {
    const object = asObject(choice);
    return object ? [object] : [];
  });
  const unscored = new Set<Unscored>();
  const written: WrittenPart[] = [];
  const beside = choices.flatMap((choice): Json[] => {
    if ((choice.index ?? 0) !== 0) {
      if (hasContent(choice)) unscored.add('choices');
      return [without(choice, IDS)];
    }
    const delta = asObject(choice.delta) ?? {};
    const rest = without(delta, OWN_OF_DELTA);
    const parts = otherParts(delta.content);
    for (const part of Object.entries(rest).flatMap(writtenParts)) written.push(part);
    for (const part of parts) written.push(partOf(part));
    for (const { kind } of written) unscored.add(kind);
    const fields = without(choice, OWN_OF_CHOICE);
    const said = { ...rest, ...(parts.length > 0 && { content: parts }) };
    if (Object.keys(said).length === 0 && Object.keys(fields).length === 0) return [];
    const logprobs = written.length > 0 && choice.logprobs ? { logprobs: choice.logprobs } : {};
    return [{ index: 0, ...fields, delta: said, ...logprobs }];
  });
  const { timings, ...rest } = without(chunk, OWN_OF_CHUNK);
  // llama.cpp's at the end are its own; those of each token we have asked for.
  const fields = choices.every(({ finish_reason: reason }) => reason)
    ? { ...rest, ...given({ timings }) }
    : rest;
  if (beside.length === 0 && (Object.keys(fields).length === 0 || isHeartbeat(chunk))) return NOTHING;
  return { beside: { chunk: { ...fields, choices: beside }, unscored: [...unscored] }, parts: written };
}

function writtenParts([name, value]: readonly [string, unknown]): WrittenPart[] {
  const kind = kindOf(name, value);
  if (!kind) return [];
  const calls = name === 'tool_calls' ? limited(asList(value)) : null;
  return calls ? calls.map((call) => callOf(asObject(call) ?? {})) : [{ kind, text: asText(value) ?? '' }];
}

function callOf({ index, function: called }: Json): WrittenPart {
  const call = asCount(index);
  const text = asText(asObject(called)?.arguments) ?? '';
  return { kind: 'tool_calls', text, ...(call !== null && { call }) };
}

/** Part of a content that is a list. */
const partOf = ({ type, thinking }: Json): WrittenPart =>
  type === 'thinking' ? { kind: 'reasoning', text: textOfParts(thinking) } : { kind: 'content', text: '' };

/** Whether it says nothing else, as most chunks. */
function isText(chunk: Json, choice: Json): boolean {
  const delta = asObject(choice.delta) ?? {};
  const plain = asList(delta.content) === null && (choice.index ?? 0) === 0;
  return plain && !says(chunk, OWN_OF_CHUNK) && !says(choice, OWN_OF_CHOICE) && !says(delta, OWN_OF_DELTA);
}

/** Whether any other field has a value. */
function says(object: Json, own: ReadonlySet<string>): boolean {
  for (const name in object) if (!own.has(name) && isSaid(object[name])) return true;
  return false;
}

/** A message that is no chunk, and tells nothing, such as `{"type":"ping"}`. */
export const isHeartbeat = (chunk: Json): boolean =>
  chunk.choices === undefined && Object.keys(chunk).every((name) => isLabel(name) || isMute(chunk[name]));

const given = (object: Json): Json => without(object, NONE);
const NONE: ReadonlySet<string> = new Set();

const IDS: ReadonlySet<string> = new Set(['token_ids', 'prompt_token_ids']);

/** The fields that say something. */
function without(object: Json, own: ReadonlySet<string>): Json {
  const rest: Record<string, unknown> = {};
  for (const name in object) {
    if (!own.has(name) && isSaid(object[name])) rest[name] = object[name];
  }
  return rest;
}

function otherParts(content: unknown): readonly Json[] {
  return (limited(asList(content)) ?? []).flatMap((part) => {
    const object = asObject(part);
    return object && object.type !== 'text' ? [object] : [];
  });
}

const ROLE: ReadonlySet<string> = new Set(['role']);

const hasContent = (choice: Json): boolean =>
  Boolean(asText(choice.text)) || says(asObject(choice.delta) ?? {}, ROLE);

/** Whether any of the choices goes on, or ends. */
export const hasContents = (chunk: Json): boolean =>
  listOf(chunk.choices).some((each) => {
    const choice = asObject(each);
    return choice !== null && (Boolean(choice.finish_reason) || hasContent(choice));
  });
