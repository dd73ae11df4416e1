import { SUBPROTOCOL } from './protocol-events.js';
import type { OpenSocket, Socket } from './socket.js';
import { errorOf, fetchTicket } from './ticket.js';
import { streamUrl } from './urls.js';

/** The part of the WHATWG's WebSocket that is used here. */
export interface WebSocketLike {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'open', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(
    type: 'close',
    listener: (event: { readonly code: number; readonly reason: string }) => void,
  ): void;
}

export type WebSocketClass = new (url: string, protocol: string) => WebSocketLike;

export interface BrowserSocketOptions {
  /** Address of the gateway, such as `https://example.org/flinch/`. */
  readonly url: string | URL;
  /** Key with which a ticket is requested before each connection: a browser cannot put a key into a handshake. */
  readonly apiKey?: string | undefined;
  /** Gets a ticket for one connection, in place of a key: from a server of your own that has the key. */
  readonly ticket?: () => Promise<string>;
  /** Class to use in place of the global `WebSocket`. */
  readonly webSocket?: WebSocketClass;
}

declare const WebSocket: WebSocketClass;

/**
 * Sockets as browsers have them.
 * @throws TypeError for an address that is none
 */
export function browserSocket(options: BrowserSocketOptions): OpenSocket {
  const { url, apiKey, ticket = apiKey === undefined ? null : () => fetchTicket(url, apiKey) } = options;
  const address = streamUrl(url).href;
  return (handlers) => {
    let socket: WebSocketLike | null = null;
    let closed = false;
    const begin = async (): Promise<void> => {
      const target = new URL(address);
      if (ticket) target.searchParams.set('ticket', await ticket());
      if (closed) return;
      socket = new (options.webSocket ?? WebSocket)(target.href, SUBPROTOCOL);
      socket.addEventListener('open', () => handlers.open());
      socket.addEventListener('message', ({ data }) =>
        handlers.message(typeof data === 'string' ? data : null),
      );
      socket.addEventListener('close', ({ code, reason }) => handlers.close({ code, reason }));
    };
    begin().catch((error: unknown) => {
      const refusal = errorOf(error);
      const reason = error instanceof Error ? error.message : String(error);
      handlers.close({ code: 1006, reason, ...(refusal && { refusal }) });
    });
    return {
      send: (text) => socket?.send(text),
      close: (code, reason) => {
        closed = true;
        socket?.close(code, reason);
      },
    } satisfies Socket;
  };
}
