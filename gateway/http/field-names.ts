import { catchError, throwError } from 'rxjs';
import { ApiError, toApiError } from '../errors/api-error.js';
import type { Prepared } from '../models/served-model.js';

/** Names of an API for the fields of a chat completion: `{ messages: 'prompt' }`. */
export type FieldNames = Readonly<Record<string, string>>;

/** The error of a chat completion, as one of an API with other names: where it is about a field, about its own. */
function renamed(names: FieldNames, error: unknown): unknown {
  const apiError = toApiError(error);
  const { param, message, code } = apiError.body;
  const name = param === null ? undefined : names[param];
  if (param === null || name === undefined) return error;
  const text = withName(names, message);
  return new ApiError(code, text, name, apiError);
}

/** Renames the fields in errors and warnings of a prepared generation. */
export async function renamedPrepared(
  names: FieldNames,
  prepare: () => Promise<Prepared>,
): Promise<Prepared> {
  try {
    const prepared = await prepare();
    const { guard, start } = prepared;
    const warnings = guard.warnings?.map((warning) => withName(names, warning));
    return {
      ...prepared,
      guard: { ...guard, ...(warnings && { warnings }) },
      start: (gate) => start(gate).pipe(catchError((error) => throwError(() => renamed(names, error)))),
    };
  } catch (error) {
    throw renamed(names, error);
  }
}

/** Errors and warnings about a field begin with its name. */
function withName(names: FieldNames, text: string): string {
  const [, field = ''] = /^(\w+): /.exec(text) ?? [];
  const name = names[field];
  return name === undefined ? text : name + text.slice(field.length);
}
