import type { FlinchError } from './client-errors.js';

/** Part of a WebSocket that a {@link Connection} uses. */
export interface Socket {
  send(text: string): void;
  close(code: number, reason: string): void;
}

export interface SocketHandlers {
  open(): void;
  /** @param text `null` for a frame that is not text */
  message(text: string | null): void;
  /** Once, also when it never opened. `refusal`: the server said no, and asking again would not help. */
  close(end: { readonly code: number; readonly reason: string; readonly refusal?: FlinchError }): void;
}

/** Starts a connection to `/v1/stream`. Calls no handler before it has returned. */
export type OpenSocket = (handlers: SocketHandlers) => Socket;
