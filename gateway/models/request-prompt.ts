import type { Engine } from '../../src/engine/engine.js';
import type { TextTask } from '../../src/engine/text/text-messages.js';
import { TemplateError, TextLimitError } from '../../src/files/file-errors.js';
import type { ChatMessage, TemplateVariables } from '../../src/tokenizer/chat-template.js';
import type { EncodedPrompt } from '../../src/tokenizer/prompt.js';
import type { Tokenizer } from '../../src/tokenizer/tokenizer.js';
import { ApiError } from '../errors/api-error.js';
import type { Prompt } from '../requests/completion-request.js';
import { askedLength, type GenerationFields } from '../requests/generation-request.js';

/**
 * Messages as the model reads them, by its template.
 * @param variables further variables of the template, such as `tools`
 * @throws ApiError 400 for messages that cannot fit, that the template refuses or that take too long; ModelError for a
 *   model without a template
 */
export async function promptOf(
  engine: Engine,
  messages: readonly ChatMessage[],
  variables: TemplateVariables = {},
): Promise<EncodedPrompt> {
  const characters = messages.reduce((sum, { content }) => sum + (content?.length ?? 0), 0);
  checkLength(characters, engine.checkpoint.tokenizer, engine.contextLength);
  return encoded(engine, { messages, variables });
}

/** @throws ApiError 400 */
async function encoded({ text }: Engine, task: TextTask): Promise<EncodedPrompt> {
  try {
    return await text.encode(task);
  } catch (error) {
    const problem =
      error instanceof TemplateError
        ? `the chat template rejects them: ${error.reason}`
        : error instanceof TextLimitError && error.message;
    if (problem) throw new ApiError('invalid_value', `messages: ${problem}`, 'messages');
    throw error;
  }
}

/**
 * Token ids of a prompt that no chat template surrounds. In a text the names of special tokens are those tokens.
 *
 * @param prefix ids that the tokenizer puts before a text
 * @returns `null` for a text if it is unknown which tokens come before it
 * @throws ApiError 400 for ids that the model does not have, and for a prompt that is empty or cannot fit
 */
export async function rawPromptOf(
  engine: Engine,
  prompt: Prompt,
  prefix: Tokenizer['prefix'] = engine.checkpoint.tokenizer.prefix,
): Promise<readonly number[] | null> {
  const { tokenizer, config } = engine.checkpoint;
  if (typeof prompt === 'string') {
    checkLength(prompt.length, tokenizer, engine.contextLength);
    if (prefix === null) return null;
    const ids = [...prefix, ...(await encoded(engine, { text: prompt })).ids];
    if (ids.length > 0) return ids;
    throw new ApiError('invalid_value', 'messages: must have at least one token', 'messages');
  }
  const unknown = prompt.find((id) => id >= config.vocabSize);
  if (unknown === undefined) return prompt;
  const problem = `messages: the model has no token ${unknown}; its vocabulary has ${config.vocabSize}`;
  throw new ApiError('invalid_value', problem, 'messages');
}

/**
 * Tokens that are left for the response.
 * @throws ApiError 400 for none
 */
export function roomAfter({ contextLength }: Engine, promptIds: readonly number[]): number {
  const room = contextLength - promptIds.length;
  if (room >= 1) return room;
  const message = `messages: ${promptIds.length} tokens leave no room in the context length of ${contextLength}`;
  throw new ApiError('context_length_exceeded', message, 'messages');
}

/** Tokenising takes time: a text that cannot possibly fit is refused unread. */
function checkLength(
  characters: number,
  { longestToken }: Pick<Tokenizer, 'longestToken'>,
  contextLength: number,
): void {
  // The factor allows for characters that a normaliser may remove.
  if (characters <= 4 * longestToken * contextLength) return;
  const message = `messages: ${characters} characters cannot fit into the context length of ${contextLength} tokens`;
  throw new ApiError('context_length_exceeded', message, 'messages');
}

/**
 * Tokens that the response may have: as asked, else all that there is room for.
 * @param unasked maximum tokens of a request without a limit
 * @returns `warnings`: that `clamp` lowered the length, where it did
 * @throws ApiError 400 for more than there is room for, unless the request has `clamp`
 */
export function lengthOf(
  request: GenerationFields,
  room: number,
  unasked = room,
): { readonly maxTokens: number; readonly warnings: readonly string[] } {
  const asked = askedLength(request);
  if (asked === null) return { maxTokens: Math.min(room, unasked), warnings: [] };
  const { field, tokens } = asked;
  if (tokens <= room) return { maxTokens: tokens, warnings: [] };
  const left = `the ${room} tokens left in the context after the prompt`;
  if (request.clamp) return { maxTokens: room, warnings: [`${field}: lowered from ${tokens} to ${left}`] };
  throw new ApiError('context_length_exceeded', `${field}: ${tokens} exceeds ${left}`, field);
}
