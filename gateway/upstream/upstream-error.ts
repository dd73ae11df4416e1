import { ApiError } from '../errors/api-error.js';
import { ERROR_CODES, type ErrorCode } from '../errors/codes.js';

/** Code of an upstream's failure, as clients see it. */
export type UpstreamErrorCode = Extract<ErrorCode, `upstream_${string}`>;

export const UPSTREAM_ERROR_CODES = ERROR_CODES.filter((code): code is UpstreamErrorCode =>
  code.startsWith('upstream_'),
);

export interface UpstreamErrorOptions {
  /** Seconds, as the server asked for them; clients are told some from 1 to 60. */
  readonly retryAfterS?: number | null;
  /** Node's code, such as `ECONNREFUSED`: never a text, which would hold an address. */
  readonly reason?: string;
  /** The field of the client's request that is at fault. */
  readonly param?: string | null;
}

/**
 * A fault of an upstream. Its message names no host and no key, and it has no `cause`, as the errors of sockets have
 * addresses in them and loggers print causes.
 */
export class UpstreamError extends ApiError {
  readonly code: UpstreamErrorCode;
  /** Wait that the server asked for, unclamped. */
  readonly askedWaitS: number | null;
  readonly reason: string | null;

  constructor(code: UpstreamErrorCode, message: string, options: UpstreamErrorOptions = {}) {
    const { retryAfterS = null, reason = null, param = null } = options;
    const retryAfterSeconds = code === 'upstream_overloaded' ? clientWait(retryAfterS) : null;
    super(code, message, param, { retryAfterSeconds });
    this.name = 'UpstreamError';
    this.code = code;
    this.askedWaitS = retryAfterS;
    this.reason = reason;
  }

  /** Fields of a line of the log. The refusal of a client's request may quote that. */
  get logged(): object {
    const { code, reason, message } = this;
    return { code, reason, ...(code !== 'upstream_refused' && { problem: message }) };
  }
}

const clientWait = (seconds: number | null): number => Math.min(60, Math.max(1, Math.ceil(seconds ?? 1)));

/**
 * Seconds that a `Retry-After` header asks for (RFC 9110, section 10.2.3: a number of seconds, or a date).
 * @param now milliseconds since 1970
 * @returns `null` for a header that is not there or says neither
 */
export function retryAfterSeconds(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text);
  // Date.parse takes much for a date, "-5" among it; an HTTP date begins with the name of a day.
  const date = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, (date - now) / 1000);
}
