import type { UpstreamEvent } from '../../../src/stream/events.js';
import { asObject, type Json, listOf } from '../wire/wire-json.js';

/** Fields of a chunk that are not part of its text. */
const OF_CHUNK: ReadonlySet<string> = new Set([
  ...['choices', 'usage', 'timings', 'system_fingerprint', 'service_tier', 'provider', 'obfuscation'],
  ...['prompt_filter_results', 'event'],
]);
const OF_CHOICE: ReadonlySet<string> = new Set([
  ...['index', 'delta', 'logprobs', 'finish_reason', 'stop_reason', 'native_finish_reason', 'matched_stop'],
  'content_filter_results',
]);
/** Fields whose text is scored, or is reported as unscored. */
const OF_DELTA: ReadonlySet<string> = new Set([
  ...['role', 'content', 'refusal', 'tool_calls', 'function_call', 'audio'],
  ...['reasoning', 'reasoning_content', 'reasoning_details'],
]);

/** Events of `/v1/responses`: those of the text, and of the response that has it. */
const EVENTS: ReadonlySet<unknown> = new Set([
  ...['response.created', 'response.queued', 'response.in_progress'],
  ...['response.completed', 'response.incomplete'],
  ...['response.output_item.added', 'response.output_item.done'],
  ...['response.content_part.added', 'response.content_part.done', 'response.output_text.done'],
]);
const OF_EVENT: ReadonlySet<string> = new Set([
  ...['type', 'sequence_number', 'item_id', 'output_index', 'content_index', 'text', 'item', 'part'],
  'response',
]);
const OF_RESPONSE: ReadonlySet<string> = new Set([
  ...['id', 'object', 'created_at', 'completed_at', 'status', 'model', 'output', 'usage', 'service_tier'],
  ...['background', 'max_output_tokens', 'previous_response_id', 'store', 'temperature', 'top_p'],
  ...['top_logprobs', 'parallel_tool_calls', 'truncation'],
]);
const OF_MESSAGE: ReadonlySet<string> = new Set(['type', 'id', 'role', 'status', 'content']);
const OF_PART: ReadonlySet<string> = new Set(['type', 'text', 'logprobs']);

/**
 * Leaves out of what a server sent beside the text all fields that we do not know: any of them may hold text that
 * nothing scores.
 */
export function knownFields(event: UpstreamEvent): UpstreamEvent {
  const { event: named, choices, ...fields } = withNames(event.chunk, OF_CHUNK);
  const known = listOf(choices).flatMap((each) => {
    const choice = withNames(asObject(each) ?? {}, OF_CHOICE);
    const delta = asObject(choice.delta);
    return (choice.index ?? 0) === 0
      ? [{ ...choice, ...(delta && { delta: withNames(delta, OF_DELTA) }) }]
      : [];
  });
  const knownEvent = responseEvent(asObject(named));
  return { ...event, chunk: { ...fields, ...(knownEvent && { event: knownEvent }), choices: known } };
}

/** `null` for one that is of no text. */
function responseEvent(event: Json | null): Json | null {
  if (!event || !EVENTS.has(event.type)) return null;
  const { item, part, response, ...fields } = withNames(event, OF_EVENT);
  const [message, text, whole] = [messageOf(item), partOf(part), asObject(response)];
  if ((item !== undefined && !message) || (part !== undefined && !text)) return null;
  return {
    ...fields,
    ...(message && { item: message }),
    ...(text && { part: text }),
    ...(whole && {
      response: {
        ...withNames(whole, OF_RESPONSE),
        output: listOf(whole.output).flatMap((each) => messageOf(each) ?? []),
      },
    }),
  };
}

function messageOf(value: unknown): Json | null {
  const item = asObject(value);
  if (item?.type !== 'message') return null;
  return {
    ...withNames(item, OF_MESSAGE),
    content: listOf(item.content).flatMap((each) => partOf(each) ?? []),
  };
}

function partOf(value: unknown): Json | null {
  const part = asObject(value);
  return part?.type === 'output_text' ? { ...withNames(part, OF_PART), annotations: [] } : null;
}

const withNames = (object: Json, known: ReadonlySet<string>): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => known.has(name)));
