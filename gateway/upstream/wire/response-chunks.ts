import type { FinishReason, Unscored } from '../../../src/stream/events.js';
import { UpstreamError } from '../upstream-error.js';
import { type Chunk, MAX_LISTS, NOTHING, usageOf } from './chunks.js';
import { entriesOf, withText } from './logprobs.js';
import { isMute } from './text-fields.js';
import { asObject, asText, exactly, type Json, listOf, parseObject } from './wire-json.js';

/**
 * Reads the events of one `/responses` (OpenAI's API reference, "Responses", "Streaming events"). The text is that of
 * `response.output_text.delta`; all others are passed on as they came.
 *
 * @throws UpstreamError for what is no event, and for one that says that the response failed
 */
export function responseReader(): (message: string) => Chunk {
  const texts = new ResponseTexts();
  return (message) => {
    const plain = checked(message);
    if (!plain) return NOTHING;
    if (plain.type === 'response.output_text.delta') {
      const event = plain;
      texts.add(event);
      const says = saysMore(event);
      const text = asText(event.delta) ?? '';
      return { ...NOTHING, says, text, tokens: withText(entriesOf(event.logprobs), text) };
    }
    const event = exactly(message, plain);
    const kind = unscoredOf(event);
    // Its tokens are not told.
    const parts = kind === null ? [] : [{ kind, text: '' }];
    const unscored = new Set([...(kind === null ? [] : [kind]), ...kindsOfItems(event)]);
    if (!texts.tells(event)) unscored.add('content');
    return { ...ending(event), parts, beside: besideOf(event, [...unscored]) };
  };
}

/**
 * Reads of it no more than whether it is the last.
 * @throws UpstreamError as {@link responseReader}
 */
export function readResponseVerbatim(message: string): Chunk {
  const plain = checked(message);
  if (!plain) return NOTHING;
  const event = exactly(message, plain);
  return { ...ending(event), beside: besideOf(event, []) };
}

/**
 * Reads a response that is one object as the events that it would have ended with.
 * @throws UpstreamError as {@link responseReader}
 */
export function readWholeResponse(message: string): Chunk {
  const parsed = parseObject(message, MAX_LISTS);
  const response = parsed && exactly(message, parsed);
  const type = response?.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
  if (!Array.isArray(response?.output))
    throw new UpstreamError('upstream_error', 'the upstream sent an invalid response');
  if (response.status === 'failed') throw failed();
  const event = { type, response };
  const contents = response.output.flatMap((item) => listOf(asObject(item)?.content));
  const parts = contents.flatMap((part) => {
    const object = asObject(part);
    return object?.type === 'output_text' ? [object] : [];
  });
  const text = parts.map((part) => asText(part.text) ?? '').join('');
  const tokens = withText(
    entriesOf(
      parts.flatMap(({ logprobs }) => listOf(logprobs)),
      MAX_LISTS,
    ),
    text,
  );
  return { ...ending(event), says: true, text, tokens, beside: besideOf(event, kindsOfItems(event)) };
}

/** Chunk with the event in an object of its own: its fields are those of one event alone. */
const besideOf = (event: Json, unscored: readonly Unscored[]) => ({
  chunk: { event, choices: [] },
  unscored,
});

/** `null` for a heartbeat: some servers send an object that tells nothing. */
function checked(message: string): Json | null {
  const event = parseObject(message);
  if (event && Object.values(event).every(isMute)) return null;
  if (!event || asText(event.type) === null)
    throw new UpstreamError('upstream_error', 'the upstream sent an invalid event');
  // Its text stays here: it may hold addresses, or what others asked.
  if (event.type === 'error' || event.type === 'response.failed') throw failed();
  return event;
}

const failed = () => new UpstreamError('upstream_error', 'the upstream failed during its answer');

function ending(event: Json): Chunk {
  const { type, response } = event;
  const says = saysMore(event);
  if (type !== 'response.completed' && type !== 'response.incomplete') return { ...NOTHING, says };
  const { usage, incomplete_details: details } = asObject(response) ?? {};
  const { input_tokens: input, output_tokens: output } = asObject(usage) ?? {};
  return {
    ...NOTHING,
    says,
    finishReason: reasonOf(type, asObject(details)?.reason),
    usage: usageOf(input, output),
  };
}

function reasonOf(type: string, reason: unknown): FinishReason {
  if (type === 'response.completed') return 'stop';
  return reason === 'max_output_tokens' ? 'length' : (asText(reason) ?? 'length');
}

/**
 * Whether an event is progress. Other events, and those that are not of a response, only say that the server is at work,
 * and may be repeated for ever.
 */
const saysMore = ({ type, delta }: Json): boolean =>
  delta !== '' && /^response\..*(?<!\.created|\.queued|\.in_progress)$/.test(asText(type) ?? '');

/** Kind of a part that the model wrote beside its text. */
function unscoredOf(event: Json): Unscored | null {
  const type = asText(event.type) ?? '';
  if (type === 'response.output_item.added') return kindOfItem(asText(asObject(event.item)?.type) ?? '');
  const known = DELTAS.find(([begin]) => type.startsWith(begin))?.[1];
  // Unknown deltas are meant to be read.
  return known ?? (asText(event.delta) ? 'content' : null);
}

/** Kinds of items that are done, which need not have been announced. */
const kindsOfItems = ({ item, response }: Json): readonly Unscored[] =>
  [item, ...listOf(asObject(response)?.output)].flatMap((each) => {
    const type = asText(asObject(each)?.type);
    return type === null ? [] : (kindOfItem(type) ?? []);
  });

const kindOfItem = (type: string): Unscored | null => {
  if (type === 'message') return null;
  if (type === 'reasoning') return 'reasoning';
  return type.endsWith('_call') ? 'tool_calls' : 'content';
};

/** Kinds of items without an event of their own. */
const DELTAS: readonly (readonly [string, Unscored])[] = [
  ['response.refusal.delta', 'refusal'],
  ['response.reasoning', 'reasoning'],
  ['response.audio', 'audio'],
  ['response.function_call_arguments', 'tool_calls'],
  ['response.custom_tool_call_input', 'tool_calls'],
  ['response.mcp_call_arguments', 'tool_calls'],
  ['response.code_interpreter_call_code', 'tool_calls'],
];

/**
 * The texts of a response, which its deltas bring and later events repeat (OpenAI's API reference, "Responses",
 * "Streaming events"). A text that no delta brought is not scored.
 */
class ResponseTexts {
  readonly #texts = new Map<string, string>();

  add({ item_id, content_index, delta }: Json): void {
    const key = `${asText(item_id)}/${String(content_index)}`;
    this.#texts.set(key, `${this.#texts.get(key) ?? ''}${asText(delta) ?? ''}`);
  }

  /** Whether an event tells no text but those. */
  tells({ type, text, part, item, response }: Json): boolean {
    if (type === 'response.output_text.done' && !this.#has(text)) return false;
    const items = listOf(asObject(response)?.output);
    const contents = [item, ...items].flatMap((each) => listOf(asObject(each)?.content));
    return [part, ...contents].every((each) => {
      const { type = 'output_text', text = '' } = asObject(each) ?? {};
      return type !== 'output_text' || this.#has(text);
    });
  }

  #has(text: unknown): boolean {
    return text === '' || [...this.#texts.values()].some((each) => each === text);
  }
}
