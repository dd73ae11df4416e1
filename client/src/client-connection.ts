import { asyncScheduler, BehaviorSubject, Subscription } from 'rxjs';
import { type Backoff, DEFAULT_BACKOFF, fullJitter } from './backoff.js';
import { FlinchError } from './client-errors.js';
import type { Observable, SchedulerLike } from './observable.js';
import type { ServerEvent, UnknownEvent } from './protocol-events.js';
import { ProtocolError, readEvent } from './read-event.js';
import { isTransient, NORMAL_CLOSURE, SILENT_CONNECTION } from './reconnect-codes.js';
import type { ClientMessage } from './requests.js';
import type { OpenSocket, Socket } from './socket.js';

export type ConnectionState =
  /** No connection was requested yet. */
  | { readonly status: 'idle' }
  | { readonly status: 'connecting' }
  | { readonly status: 'open' }
  /** The connection was lost, or could not be opened; the next try begins in `retryMs`. */
  | { readonly status: 'waiting'; readonly error: FlinchError; readonly retryMs: number }
  /** The connection does not come back by itself. `error` is null if this side closed it. */
  | { readonly status: 'closed'; readonly error: FlinchError | null };

/** Two heartbeats of any gateway (gateway/connection-bounds.ts), and time to spare. */
export const DEFAULT_SILENCE_MS = 45_000;

export interface ConnectionOptions {
  readonly backoff?: Backoff;
  /** Time without a message or heartbeat after which the connection counts as lost. Default 45 000. */
  readonly silenceMs?: number;
  /** Random numbers from 0 to less than 1. */
  readonly random?: () => number;
  readonly scheduler?: SchedulerLike;
}

export interface ConnectionListener {
  opened(): void;
  received(event: ServerEvent | UnknownEvent): void;
  /** The connection is lost, and will come back by itself. */
  lost(error: FlinchError): void;
  /** The connection will not come back by itself. */
  ended(error: FlinchError): void;
}

/** A WebSocket that comes back by itself, each time after a longer wait, until the server says not to. */
export class Connection {
  readonly #open: OpenSocket;
  readonly #listener: ConnectionListener;
  readonly #options: Required<ConnectionOptions>;
  readonly #state = new BehaviorSubject<ConnectionState>({ status: 'idle' });
  #socket: Socket | null = null;
  /** Tries without a message from the server. */
  #failures = 0;
  /** The wait for the next try, or for the next message. */
  #timer = Subscription.EMPTY;

  constructor(open: OpenSocket, listener: ConnectionListener, options: ConnectionOptions = {}) {
    this.#open = open;
    this.#listener = listener;
    this.#options = {
      backoff: DEFAULT_BACKOFF,
      silenceMs: DEFAULT_SILENCE_MS,
      random: Math.random,
      scheduler: asyncScheduler,
      ...options,
    };
  }

  get state(): Observable<ConnectionState> {
    return this.#state.asObservable();
  }

  get isOpen(): boolean {
    return this.#state.value.status === 'open';
  }

  /** Connects now, unless a connection is there or on its way. */
  connect(): void {
    if (this.#socket) return;
    this.#timer.unsubscribe();
    this.#state.next({ status: 'connecting' });
    const own = (): boolean => this.#socket === socket;
    const socket = this.#open({
      open: () => {
        if (!own()) return;
        this.#state.next({ status: 'open' });
        this.#listen();
        this.#listener.opened();
      },
      message: (text) => {
        if (own()) this.#receive(text);
      },
      close: ({ code, reason, refusal }) => {
        if (!own()) return;
        const error = refusal ?? closeError(code, reason, this.isOpen);
        if (!refusal && isTransient(code)) this.#retry(error);
        else this.#end(error);
      },
    });
    this.#socket = socket;
    // A connection that never gets as far as to be open is given up as a silent one is.
    this.#listen();
  }

  /** @returns false where there is no open connection: the message is dropped, not kept for later */
  send(message: ClientMessage): boolean {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify(message));
    return true;
  }

  /** Closes the connection for good. @param code says whether generations on the server end, too */
  close(code: number): void {
    const socket = this.#leave();
    socket?.close(code, '');
    this.#state.next({ status: 'closed', error: null });
  }

  #receive(text: string | null): void {
    this.#failures = 0;
    this.#listen();
    let event: ServerEvent | UnknownEvent;
    try {
      if (text === null) throw new ProtocolError('the server sent a binary frame', '');
      event = readEvent(text);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const socket = this.#socket;
      this.#end(new FlinchError('protocol_error', error.message, { cause: error }));
      socket?.close(NORMAL_CLOSURE, 'protocol error');
      return;
    }
    this.#listener.received(event);
  }

  /** Starts the wait for the next message anew. */
  #listen(): void {
    this.#timer.unsubscribe();
    const { scheduler, silenceMs } = this.#options;
    this.#timer = scheduler.schedule(() => {
      // A dead connection takes its time to close, which is not waited for.
      this.#socket?.close(SILENT_CONNECTION, 'no heartbeat');
      this.#retry(
        new FlinchError('connection_lost', `received nothing from the server for ${silenceMs / 1000} s`),
      );
    }, silenceMs);
  }

  #retry(error: FlinchError): void {
    this.#leave();
    const { backoff, random, scheduler } = this.#options;
    const retryMs = fullJitter(this.#failures, backoff, random());
    this.#failures += 1;
    this.#timer = scheduler.schedule(() => this.connect(), retryMs);
    this.#state.next({ status: 'waiting', error, retryMs });
    this.#listener.lost(error);
  }

  #end(error: FlinchError): void {
    this.#leave();
    this.#state.next({ status: 'closed', error });
    this.#listener.ended(error);
  }

  #leave(): Socket | null {
    const socket = this.#socket;
    this.#socket = null;
    this.#timer.unsubscribe();
    return socket;
  }
}

function closeError(code: number, reason: string, opened: boolean): FlinchError {
  const why = reason ? `: ${reason}` : '';
  if (!opened && isTransient(code)) {
    return new FlinchError('connection_lost', `the server does not answer${why}`, { closeCode: code });
  }
  return isTransient(code)
    ? new FlinchError('connection_lost', `the connection was lost (${code}${why})`, { closeCode: code })
    : new FlinchError('connection_closed', `the server closed the connection (${code}${why})`, {
        closeCode: code,
      });
}
