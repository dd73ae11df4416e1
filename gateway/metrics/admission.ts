import type { ApiError } from '../errors/api-error.js';
import type { ErrorCode } from '../errors/codes.js';

/** Errors that say that a generation is not taken on, though nothing is wrong with it or with the model. */
export const ADMISSION_REFUSALS = [
  'context_length_exceeded',
  'insufficient_memory',
  'overloaded',
  'prompt_too_long',
  'rate_limited',
  'shutting_down',
  'too_many_generations',
] as const satisfies readonly ErrorCode[];

/** Whether the request is at fault, or there is no room for it: nothing was taken on. */
export function isRefusal({ status, body }: ApiError): boolean {
  return status < 500 || ADMISSION_REFUSALS.some((code) => code === body.code);
}
