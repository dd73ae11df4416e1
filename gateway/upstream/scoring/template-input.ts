import type { ChatMessage, TemplateVariables } from '../../../src/tokenizer/chat-template.js';
import type { GenerationFields } from '../../requests/generation-request.js';
import { type Message, textOf } from '../../requests/message-fields.js';
import { asList, asObject, asText, parseObject } from '../wire/wire-json.js';

export interface TemplateInput {
  readonly messages: readonly ChatMessage[];
  readonly variables: TemplateVariables;
  /** Whether all servers render it alike: it is text alone, and a text is asked for. */
  readonly certain: boolean;
}

/**
 * A conversation as a chat template reads it: parts of a text joined, `developer` as `system`, the arguments of tool
 * calls as objects (vLLM: vllm/entrypoints/chat_utils.py, `_postprocess_messages`), `chat_template_kwargs` as variables.
 *
 * @returns `null` if it has parts that are no text, or says itself how it is rendered
 */
export function templateInput(request: GenerationFields): TemplateInput | null {
  if (RENDERING.some((name) => (request[name] ?? null) !== null)) return null;
  const messages = request.messages.map(templateMessage);
  if (!messages.every((message) => message !== null)) return null;
  const tools = asList(request.tools);
  const { tool_choice: choice, reasoning_effort: effort, chat_template_kwargs: more, documents } = request;
  const variables = {
    ...(tools?.length && choice !== 'none' && { tools }),
    ...(asText(effort) && { reasoning_effort: effort }),
    ...(asList(documents) && { documents }),
    ...asObject(more),
  };
  const plain = messages.every((message) => Object.keys(message).every((name) => PLAIN.has(name)));
  // Some servers show tools even if none may be called, and some describe a format in the prompt.
  const shown = Boolean(tools?.length) || (asObject(request.response_format)?.type ?? 'text') !== 'text';
  return { messages, variables, certain: plain && !shown && Object.keys(variables).length === 0 };
}

/** Fields of vLLM and llama.cpp by which the prompt is another than the template makes of the messages. */
const RENDERING = ['chat_template', 'continue_final_message', 'add_generation_prompt'] as const;

const PLAIN: ReadonlySet<string> = new Set(['role', 'content']);

function templateMessage(message: Message): ChatMessage | null {
  const content = textOf(message);
  if (content === null) return null;
  const { role, tool_calls: calls, name } = message;
  const rest = Object.fromEntries(Object.entries(message).filter(([, value]) => value !== null));
  delete rest.refusal;
  delete rest.annotations;
  // The text of a user's or an assistant's message alone is read by most templates.
  if (name !== undefined && role !== 'tool' && role !== 'function') delete rest.name;
  return {
    ...rest,
    role: role === 'developer' ? 'system' : role,
    content,
    ...(asList(calls) && { tool_calls: asList(calls)?.map(templateCall) }),
  };
}

function templateCall(call: unknown): unknown {
  const object = asObject(call);
  const called = asObject(object?.function);
  const text = asText(called?.arguments);
  if (!called || text === null) return call;
  return { ...object, function: { ...called, arguments: parseObject(text) ?? text } };
}
