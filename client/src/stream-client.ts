import { asyncScheduler, Observable as RxObservable, Subject } from 'rxjs';
import { Connection, type ConnectionOptions, type ConnectionState } from './client-connection.js';
import { FlinchError } from './client-errors.js';
import type { GenerationRequest } from './client-request.js';
import type { Observable } from './observable.js';
import type { GenerationEvent, ServerEvent, UnknownEvent } from './protocol-events.js';
import { DETACHED, NORMAL_CLOSURE } from './reconnect-codes.js';
import type { ResumePoint } from './requests.js';
import { type OwnEvent, RunningGeneration } from './running-generation.js';
import type { OpenSocket } from './socket.js';

export interface StreamOptions extends ConnectionOptions {
  /** How long a generation waits for a connection, to begin or to go on. Default 60 000. */
  readonly patienceMs?: number;
  /**
   * Generations under way at once; others wait for one of them to end. Default 8, as many as the gateway takes on a
   * connection.
   */
  readonly concurrency?: number;
  /** Prefix of the ids of requests; no other client with the same key may have it. Default random. */
  readonly requestPrefix?: string;
}

/**
 * Generations over one WebSocket at a time, any number of them though not all at once. The caller of the constructor
 * makes the sockets.
 */
export class StreamClient {
  /** State of the connection, from now on; never completes. */
  readonly state: Observable<ConnectionState>;
  /** Errors of the server that belong to no generation. */
  readonly errors: Observable<FlinchError>;
  readonly #connection: Connection;
  readonly #options: StreamOptions;
  readonly #errors = new Subject<FlinchError>();
  /** Generations by request id, and by response id once there is one. */
  readonly #running = new Map<string, RunningGeneration>();
  readonly #requestPrefix: string;
  #requests = 0;
  #closed = false;

  constructor(open: OpenSocket, options: StreamOptions = {}) {
    this.#options = options;
    this.#requestPrefix = options.requestPrefix ?? randomHex();
    this.errors = this.#errors.asObservable();
    const listener = {
      opened: () => {
        for (const generation of this.#all()) generation.connected();
        this.#askNext();
      },
      received: (event: ServerEvent | UnknownEvent) => this.#receive(event),
      lost: (error: FlinchError) => {
        for (const generation of this.#all()) generation.disconnected(error);
      },
      ended: (error: FlinchError) => this.#failAll(error),
    };
    this.#connection = new Connection(open, listener, options);
    this.state = this.#connection.state;
  }

  /**
   * Connects now, without waiting for a generation or for the next try.
   * @throws FlinchError `client_closed`
   */
  connect(): void {
    if (this.#closed) throw closedError();
    this.#connection.connect();
  }

  /**
   * The events of a generation, each once and in order. Subscribing starts it, once for each subscriber;
   * unsubscribing cancels it. Over a lost connection it goes on with the next event, unless `resumable` is false.
   *
   * Completes after `generation.done`. Errors with a {@link FlinchError}: the server's, or where it cannot go on.
   *
   * @example
   * client
   *   .generate({ model: 'reasoner', messages: [{ role: 'user', content: 'What is 12 + 30 - 5?' }] })
   *   .pipe(answerOf())
   *   .subscribe((answer) => console.log(answerText(answer)));
   */
  generate(request: GenerationRequest): Observable<GenerationEvent> {
    return this.#run(request);
  }

  /**
   * The rest of a generation that another client has begun and left with {@link detach}, such as that of a page before
   * it was loaded again. For the rest it is as {@link generate}; errors with `not_recovered` if the server no longer
   * has it.
   * @param place events up to the last one that is there already
   */
  resume(point: ResumePoint): Observable<GenerationEvent> {
    return this.#run(point);
  }

  /** Closes the connection and leaves resumable generations on the server, for {@link resume}. */
  detach(): void {
    this.#end(DETACHED);
  }

  #run(asked: GenerationRequest | ResumePoint): Observable<GenerationEvent> {
    return new RxObservable((subscriber) => {
      if (this.#closed) {
        subscriber.error(closedError());
        return;
      }
      const requestId = `${this.#requestPrefix}-${this.#requests++}`;
      const names = 'responseId' in asked ? [requestId, asked.responseId] : [requestId];
      const { patienceMs = 60_000, scheduler = asyncScheduler } = this.#options;
      const generation = new RunningGeneration({
        requestId,
        asked,
        subscriber,
        patienceMs,
        scheduler,
        send: (message) => this.#connection.send(message),
        named: (responseId) => {
          names.push(responseId);
          this.#running.set(responseId, generation);
        },
        over: () => {
          for (const name of names.splice(0)) this.#running.delete(name);
          this.#askNext();
        },
      });
      for (const name of names) this.#running.set(name, generation);
      if (this.#connection.isOpen) {
        generation.connected();
        this.#askNext();
      } else this.#connection.connect();
      return () => {
        if (names.length > 0) generation.cancel();
      };
    });
  }

  /** Cancels all generations, which error with `client_closed`, and closes the connection for good. */
  close(): void {
    this.#end(NORMAL_CLOSURE);
  }

  #end(code: number): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#connection.close(code);
    this.#failAll(closedError());
    this.#errors.complete();
  }

  #receive(event: ServerEvent | UnknownEvent): void {
    if (event.type === 'heartbeat') return;
    const generation = this.#find(event);
    if (generation) generation.receive(event);
    // A cancel that crossed the end of its generation needs no answer.
    else if (event.type === 'error' && event.error.code !== 'unknown_response') {
      this.#errors.next(FlinchError.fromServer(event.error, { responseId: event.response_id }));
    }
  }

  #find(event: OwnEvent): RunningGeneration | undefined {
    const byRequest = 'request_id' in event && event.request_id ? this.#running.get(event.request_id) : null;
    return byRequest ?? (event.response_id ? this.#running.get(event.response_id) : undefined);
  }

  #all(): Set<RunningGeneration> {
    return new Set(this.#running.values());
  }

  /** Asks for as many as there is place for, the first first. */
  #askNext(): void {
    const { concurrency = 8 } = this.#options;
    while (this.#connection.isOpen) {
      const all = [...this.#all()];
      const next = all.find(({ started }) => !started);
      if (!next || all.filter(({ started }) => started).length >= concurrency) return;
      next.ask();
    }
  }

  #failAll(error: FlinchError): void {
    for (const generation of this.#all()) generation.fail(error);
  }
}

/** 128 bits. `crypto.randomUUID` is missing in pages that came by plain HTTP. */
const randomHex = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

const closedError = (): FlinchError => new FlinchError('client_closed', 'the client was closed');
