import { ApiError } from '../errors/api-error.js';
import { keepExact } from './exact-numbers.js';
import { excessOf } from './request-bounds.js';

/**
 * Parses a text that a client sent. Of an object it also keeps the digits of its numbers, for {@link withExactFields}.
 * @param name name of the text in errors
 * @throws ApiError 400
 */
export function parseJsonText(text: string, name: 'body' | 'message'): unknown {
  const excess = excessOf(text);
  if (excess !== null) throw new ApiError('invalid_json', `the ${name} ${excess}`);
  return keepExact(parsed(text, name), text);
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError('invalid_json', `the ${name} is not valid JSON`);
  }
}
