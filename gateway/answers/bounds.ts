import { ApiError } from '../errors/api-error.js';
import type { Message } from '../requests/message-fields.js';
import type { Asked } from './asked.js';

/**
 * Checks that a request is within the operator's limits.
 * @param characters maximum length of a prompt
 * @throws ApiError 400
 */
export function checkBounds(asked: Asked, characters: number): void {
  checkPrompt(asked, characters);
  if (asked.maxTokens !== undefined) checkTokens(asked, asked.maxTokens);
}

function checkPrompt({ fields, prompt }: Asked, limit: number): void {
  // Only the model knows the text of ids; its context bounds them.
  const own = typeof prompt === 'string' ? prompt.length : 0;
  const characters = fields.messages.reduce((sum, message) => sum + lengthOf(message), own);
  if (characters <= limit) return;
  const text = `messages: ${characters} characters exceed the limit of ${limit}`;
  throw new ApiError('prompt_too_long', text, 'messages');
}

/** Characters of its text; other parts, such as images, are bounded by the size of the body. */
const lengthOf = ({ content }: Message): number =>
  typeof content === 'string'
    ? content.length
    : (content ?? []).reduce((sum, { text }) => sum + (typeof text === 'string' ? text.length : 0), 0);

/** Some servers take 0 or less for no maximum. */
function checkTokens({ fields, prompt }: Asked, limit: number): void {
  const least = prompt !== undefined && fields.echo === true ? 0 : 1;
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const asked = fields[field];
    if (asked === null || asked === undefined || (asked >= least && asked <= limit)) continue;
    const problem =
      asked > limit
        ? `${asked} tokens exceed the limit of ${limit}`
        : `must be from ${least} to the limit of ${limit}, not ${asked}`;
    throw new ApiError('invalid_value', `${field}: ${problem}`, field);
  }
}
