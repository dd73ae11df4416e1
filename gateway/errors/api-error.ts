import { basename } from 'node:path';
import type { z } from 'zod';
import { EngineError, type EngineErrorCode } from '../../src/engine/errors.js';
import { ModelError } from '../../src/files/errors.js';
import { fieldName } from '../../src/files/json.js';
import { UnscoredError } from '../../src/stream/refuse-unscored.js';
import { SettingsError } from '../../src/uncertainty/settings.js';
import type { ErrorCode } from './codes.js';

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
  /** When to try again; `null` where that is no use. */
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    param: string | null = null,
    retryAfterSeconds: number | null = status === 503 ? 1 : null,
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
    this.body = { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param, code };
  }
}

const ENGINE_ERRORS: Readonly<
  Record<EngineErrorCode, { readonly status: number; readonly code: ErrorCode }>
> = {
  overloaded: { status: 503, code: 'overloaded' },
  unavailable: { status: 503, code: 'engine_unavailable' },
  closed: { status: 503, code: 'engine_unavailable' },
  crashed: { status: 500, code: 'engine_crashed' },
  stalled: { status: 500, code: 'engine_stalled' },
  failed: { status: 500, code: 'engine_failed' },
  too_long: { status: 400, code: 'context_length_exceeded' },
  memory: { status: 503, code: 'insufficient_memory' },
};

/** Why is in the log: drivers and the system name what only the operator should see. */
const UNAVAILABLE = 'the engine is not running; it is started again as soon as possible';

/** Names of files alone: where they lie is nobody's business. */
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
    const { status, code } = ENGINE_ERRORS[error.code];
    return new ApiError(
      status,
      code,
      error.code === 'unavailable' ? UNAVAILABLE : withoutFolders(error.message),
    );
  }
  if (error instanceof SettingsError) {
    const param = `guard.${wireName(error.field)}`;
    return new ApiError(400, 'invalid_value', `${param}: ${error.problem}`, param);
  }
  if (error instanceof UnscoredError) {
    const problem = `has something that is not scored (${error.what.join(', ')}), which the operator's policy refuses`;
    return new ApiError(403, 'unscored', `the response ${problem}`);
  }
  if (error instanceof ModelError) {
    const message = error.message.replaceAll(error.file, basename(error.file));
    return new ApiError(500, 'model_error', withoutFolders(message));
  }
  if (isClientError(error)) {
    const { status, message } = error;
    const type = 'type' in error ? error.type : undefined;
    if (type === 'entity.too.large') return new ApiError(status, 'body_too_large', 'the body is too large');
    if (type === 'encoding.unsupported' && 'encoding' in error) {
      const text = `Content-Encoding: ${error.encoding} is not supported; send the body uncompressed`;
      return new ApiError(status, 'unsupported_encoding', text, 'Content-Encoding');
    }
    return new ApiError(status, 'invalid_request', message);
  }
  return new ApiError(500, 'internal_error', 'internal error');
}

/** The name on the wire of a field of `Scoring` or of the library's `Guard`. */
function wireName(field: string): string {
  if (field === 'temperature') return 'candidate_temperature';
  return field.replace('.', '_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What express throws at a request that it cannot read. */
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
export function fromZod(error: z.ZodError): ApiError {
  const issue = error.issues[0];
  if (!issue) return new ApiError(400, 'invalid_value', 'invalid request');
  if (issue.code === 'unrecognized_keys') {
    const param = fieldName([...issue.path, issue.keys[0] ?? '']);
    return new ApiError(400, 'unknown_parameter', `${param}: unknown field`, param);
  }
  const param = fieldName(issue.path) || null;
  const unsupported = issue.code === 'custom' && issue.params?.unsupported === true;
  const code = unsupported ? 'unsupported_parameter' : 'invalid_value';
  return new ApiError(400, code, `${param ?? 'request'}: ${issue.message}`, param);
}
