import { ApiError } from '../errors/api-error.js';
import { excessOf } from './json-bounds.js';

/**
 * Parses a text that a client sent.
 * @param name name of the text in errors
 * @throws ApiError 400
 */
export function parseJsonText(text: string, name: 'body' | 'message'): unknown {
  const excess = excessOf(text);
  if (excess !== null) throw new ApiError('invalid_json', `the ${name} ${excess}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError('invalid_json', `the ${name} is not valid JSON`);
  }
}
