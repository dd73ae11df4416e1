import { basename } from 'node:path';
import type { z } from 'zod';
import { EngineError, type EngineErrorCode } from '../../src/engine/engine-errors.js';
import { fieldHint } from '../../src/files/field-hint.js';
import { ModelError } from '../../src/files/file-errors.js';
import { fieldName } from '../../src/files/json.js';
import { UnscoredError } from '../../src/stream/refuse-unscored.js';
import { scoringFields } from '../../src/uncertainty/scoring-fields.js';
import { SettingsError } from '../../src/uncertainty/settings.js';
import { ERRORS, type ErrorCode } from './codes.js';

/** An error as OpenAI's API shapes it: the body of a failed request, or an event in a stream. */
export interface ErrorBody {
  readonly message: string;
  readonly type: 'invalid_request_error' | 'server_error';
  /** The field at fault. */
  readonly param: string | null;
  readonly code: ErrorCode;
}

export class ApiError extends Error {
  readonly status: number;
  readonly body: ErrorBody;
  /** Time after which to try again; `null` if that is no use. */
  readonly retryAfterSeconds: number | null;

  /** @param told values that differ from the defaults of the code */
  constructor(
    code: ErrorCode,
    message: string,
    param: string | null = null,
    overrides: Partial<Pick<ApiError, 'status' | 'retryAfterSeconds'>> = {},
  ) {
    const { status = ERRORS[code].status, retryAfterSeconds = status === 503 ? 1 : null } = overrides;
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
    this.body = { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param, code };
  }
}

const ENGINE_ERRORS: Readonly<Record<EngineErrorCode, ErrorCode>> = {
  overloaded: 'overloaded',
  unavailable: 'engine_unavailable',
  closed: 'engine_unavailable',
  crashed: 'engine_crashed',
  stalled: 'engine_stalled',
  failed: 'engine_failed',
  too_long: 'context_length_exceeded',
  memory: 'insufficient_memory',
};

/** The reason is in the log: drivers and the system name things that only the operator should see. */
const UNAVAILABLE = 'the engine is not running; it is started again as soon as possible';

/** Reduces paths to file names: clients must not learn where files are. */
const withoutFolders = (text: string): string =>
  text.replaceAll(/(?<![\w.])(?:[A-Za-z]:)?(?:[\\/][^\\/\s'":()]+)+[\\/]/g, '');

/** Headers that belong to a refusal. */
export function errorHeaders({ status, retryAfterSeconds }: ApiError): Record<string, string> {
  return {
    ...(retryAfterSeconds !== null && { 'Retry-After': String(retryAfterSeconds) }),
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer realm="flinch"' }),
  };
}

/** Whatever went wrong, as something a client may see. The texts of unknown errors stay in the log. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof EngineError) {
    const message = error.code === 'unavailable' ? UNAVAILABLE : withoutFolders(error.message);
    return new ApiError(ENGINE_ERRORS[error.code], message);
  }
  if (error instanceof SettingsError) {
    const param = `guard.${wireName(error.field)}`;
    return new ApiError('invalid_value', `${param}: ${error.problem}`, param);
  }
  if (error instanceof UnscoredError) {
    const problem = `has something that is not scored (${error.what.join(', ')}), which the operator's policy refuses`;
    return new ApiError('unscored', `the response ${problem}`);
  }
  if (error instanceof ModelError) {
    const message = error.message.replaceAll(error.file, basename(error.file));
    return new ApiError('model_error', withoutFolders(message));
  }
  if (isClientError(error)) {
    const { status, message } = error;
    const type = 'type' in error ? error.type : undefined;
    if (type === 'entity.too.large') return new ApiError('body_too_large', 'the body is too large');
    if (type === 'encoding.unsupported' && 'encoding' in error) {
      const text = `Content-Encoding: ${error.encoding} is not supported; send the body uncompressed`;
      return new ApiError('unsupported_encoding', text, 'Content-Encoding');
    }
    return new ApiError('invalid_request', message, null, { status });
  }
  return new ApiError('internal_error', 'internal error');
}

/** The name on the wire of a field of `Scoring` or of the library's `Guard`. */
function wireName(field: string): string {
  const name = field.replace('.', '_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.hasOwn(scoringFields, name) ? `scoring.${name}` : name;
}

/** Whether it is an error that express throws for a request that it cannot read. */
function isClientError(error: unknown): error is Error & { readonly status: number } {
  return (
    error instanceof Error &&
    'status' in error &&
    typeof error.status === 'number' &&
    error.status >= 400 &&
    error.status < 500
  );
}

/** The first problem that a schema found, naming its field. */
export function fromZod(error: z.ZodError, schema: z.ZodType): ApiError {
  const issue = error.issues[0];
  if (!issue) return new ApiError('invalid_value', 'invalid request');
  if (issue.code === 'unrecognized_keys') {
    const path = [...issue.path, issue.keys[0] ?? ''];
    const param = fieldName(path);
    return new ApiError('unknown_parameter', `${param}: unknown field${fieldHint(schema, path)}`, param);
  }
  const param = fieldName(issue.path) || null;
  const unsupported = issue.code === 'custom' && issue.params?.unsupported === true;
  const code = unsupported ? 'unsupported_parameter' : 'invalid_value';
  return new ApiError(code, `${param ?? 'request'}: ${issue.message}`, param);
}
