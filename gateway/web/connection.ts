import { type ClientMessage, ProtocolError, parseEvent, type ServerEvent, SUBPROTOCOL } from './protocol.js';

export type ConnectionState =
  | { readonly status: 'connecting' }
  | { readonly status: 'open' }
  /** No connection; the next attempt begins in `retryMs`. */
  | { readonly status: 'waiting'; readonly reason: string; readonly retryMs: number };

export interface ConnectionListener {
  state(state: ConnectionState): void;
  event(event: ServerEvent): void;
  /** A message arrived that the protocol does not allow. */
  malformed(error: ProtocolError): void;
}

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;

/** A WebSocket to `/v1/stream` that comes back by itself, each time after a longer wait. */
export class Connection {
  readonly #url: string;
  readonly #listener: ConnectionListener;
  #socket: WebSocket | null = null;
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(url: URL, listener: ConnectionListener) {
    this.#url = url.href;
    this.#listener = listener;
  }

  /** Connects now, unless a connection is there or on its way. */
  open(): void {
    if (this.#socket) return;
    clearTimeout(this.#retry);
    this.#listener.state({ status: 'connecting' });
    const socket = new WebSocket(this.#url, SUBPROTOCOL);
    this.#socket = socket;
    let opened = false;
    socket.addEventListener('open', () => {
      opened = true;
      this.#failures = 0;
      this.#listener.state({ status: 'open' });
    });
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    socket.addEventListener('close', (event) => {
      this.#socket = null;
      const retryMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures);
      this.#failures += 1;
      this.#retry = setTimeout(() => this.open(), retryMs);
      this.#listener.state({ status: 'waiting', reason: closeReason(event, opened), retryMs });
    });
  }

  /** False when there is no open connection; the message is then dropped, not kept for later. */
  send(message: ClientMessage): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  #receive(data: unknown): void {
    let event: ServerEvent | null;
    try {
      event = parseEvent(typeof data === 'string' ? data : '');
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#listener.malformed(error);
      return;
    }
    if (event) this.#listener.event(event);
  }
}

/** Why the connection is gone, in words. The browser hides why a handshake failed: all it tells is 1006. */
function closeReason({ code, reason }: CloseEvent, opened: boolean): string {
  if (!opened) return 'The server does not answer.';
  if (code === 1001) return 'The server is shutting down.';
  if (code === 1003 || code === 1009) return 'The server refused a message that it could not take.';
  return reason ? `The connection was closed: ${reason}.` : 'The connection was lost.';
}
