import type { ErrorBody } from './protocol-events.js';

/**
 * Why a generation or a connection ended, for errors detected by the client:
 * - `connection_lost`: the connection was lost, and did not come back in time or could not be resumed
 * - `connection_closed`: the server closed it permanently; see `closeCode`
 * - `connection_refused`: the server rejected the client
 * - `not_recovered`: the server no longer has the rest of the generation
 * - `events_lost`: an event is missing
 * - `protocol_error`: the server violated the protocol
 * - `client_closed`: {@link FlinchClient.close} was called
 */
export type ClientErrorCode =
  | 'connection_lost'
  | 'connection_closed'
  | 'connection_refused'
  | 'not_recovered'
  | 'events_lost'
  | 'protocol_error'
  | 'client_closed';

export interface FlinchErrorDetails {
  readonly responseId?: string | undefined;
  /** The field of the request that is at fault. */
  readonly param?: string | null;
  /** Close code of the WebSocket. */
  readonly closeCode?: number;
  /** Status of an HTTP response that refused the connection or a ticket for it. */
  readonly status?: number;
  readonly cause?: unknown;
}

/** The error of a generation or a connection; `code` is for programs. */
export class FlinchError extends Error {
  override readonly name = 'FlinchError';
  /**
   * One of this side's, or the server's own (gateway/PROTOCOL.md). `owner_lost`: the gateway that wrote the answer is gone,
   * and what came is all there is of it. Ask again.
   */
  readonly code: ClientErrorCode | (string & {});
  readonly responseId: string | null;
  readonly param: string | null;
  readonly closeCode: number | null;
  readonly status: number | null;

  constructor(
    code: ClientErrorCode | (string & {}),
    message: string,
    { responseId, param, closeCode, status, cause }: FlinchErrorDetails = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.responseId = responseId ?? null;
    this.param = param ?? null;
    this.closeCode = closeCode ?? null;
    this.status = status ?? null;
  }

  /** Error from an error event, or from the body of an HTTP response. */
  static fromServer({ code, message, param }: ErrorBody, details: FlinchErrorDetails = {}): FlinchError {
    return new FlinchError(code, message, { ...details, param });
  }
}
