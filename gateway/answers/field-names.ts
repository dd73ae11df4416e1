import { catchError, throwError } from 'rxjs';
import { ApiError, toApiError } from '../errors/api-error.js';
import type { FieldNames } from './asked.js';
import type { Answer } from './served-model.js';

/** The error of a chat completion, as one of an API with other names: where it is about a field, about its own. */
export function renamed(names: FieldNames | undefined, error: unknown): unknown {
  if (!names) return error;
  const apiError = toApiError(error);
  const { param, message, code } = apiError.body;
  const name = param === null ? undefined : names[param];
  if (name === undefined) return error;
  return new ApiError(code, withName(names, message), name, apiError);
}

/** An answer with these names in its errors and warnings. */
export function named(names: FieldNames | undefined, answer: Answer): Answer {
  if (!names) return answer;
  const { guard, start } = answer;
  const warnings = guard.warnings?.map((warning) => withName(names, warning));
  return {
    ...answer,
    guard: { ...guard, ...(warnings && { warnings }) },
    start: (gate) => start(gate).pipe(catchError((error) => throwError(() => renamed(names, error)))),
  };
}

/** Errors and warnings about a field begin with its name. */
function withName(names: FieldNames, text: string): string {
  const [, field = ''] = /^(\w+): /.exec(text) ?? [];
  const name = names[field];
  return name === undefined ? text : name + text.slice(field.length);
}
