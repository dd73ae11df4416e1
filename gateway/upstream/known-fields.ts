import type { UpstreamEvent } from '../../src/stream/events.js';
import { asList, asObject, type Json } from './wire/json.js';

/** Of a chunk: what servers say of an answer that is none of its text. */
const OF_CHUNK: ReadonlySet<string> = new Set([
  ...['choices', 'usage', 'timings', 'system_fingerprint', 'service_tier', 'provider', 'obfuscation'],
  ...['prompt_filter_results', 'event'],
]);
const OF_CHOICE: ReadonlySet<string> = new Set([
  ...['index', 'delta', 'logprobs', 'finish_reason', 'stop_reason', 'native_finish_reason', 'matched_stop'],
  'content_filter_results',
]);
/** Whose text is scored, or is told to be unscored. */
const OF_DELTA: ReadonlySet<string> = new Set([
  ...['role', 'content', 'refusal', 'tool_calls', 'function_call', 'audio', 'annotations'],
  ...['reasoning', 'reasoning_content', 'reasoning_details'],
]);

/** Of `/v1/responses`: those of the text, and of the response that has it. */
const EVENTS: ReadonlySet<unknown> = new Set([
  ...['response.created', 'response.queued', 'response.in_progress'],
  ...['response.completed', 'response.incomplete'],
  ...['response.output_item.added', 'response.output_item.done'],
  ...['response.content_part.added', 'response.content_part.done'],
  ...['response.output_text.done', 'response.output_text.annotation.added'],
]);

/**
 * Leaves out of what a server sent beside the text all fields that we do not know: any of them may hold text that
 * nothing scores.
 */
export function knownFields(event: UpstreamEvent): UpstreamEvent {
  const { event: named, choices, ...fields } = only(event.chunk, OF_CHUNK);
  const response = asObject(named);
  const known = asList(choices)?.map((each) => {
    const choice = only(asObject(each) ?? {}, OF_CHOICE);
    const delta = asObject(choice.delta);
    return { ...choice, ...(delta && { delta: only(delta, OF_DELTA) }) };
  });
  const told = response && EVENTS.has(response.type) && { event: response };
  return { ...event, chunk: { ...fields, ...told, choices: known ?? [] } };
}

const only = (object: Json, known: ReadonlySet<string>): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => known.has(name)));
