import { type SchedulerLike, type Subscriber, Subscription } from 'rxjs';
import { FlinchError } from './client-errors.js';
import type { GenerationRequest } from './client-request.js';
import type { EventOf, GenerationEvent, ServerEvent, UnknownEvent } from './protocol-events.js';
import type { ClientMessage, ResumePoint } from './requests.js';

/** Events that concern one generation. */
export type OwnEvent = Exclude<ServerEvent, EventOf<'heartbeat'>> | UnknownEvent;

export interface GenerationContext {
  readonly requestId: string;
  /** The request, or where another client's goes on. */
  readonly asked: GenerationRequest | ResumePoint;
  readonly subscriber: Subscriber<GenerationEvent>;
  readonly send: (message: ClientMessage) => boolean;
  /** Called when it has its id: events may come by that. */
  readonly named: (responseId: string) => void;
  /** Called when no event is expected any longer. */
  readonly over: () => void;
  /** Maximum time that it waits for a connection. */
  readonly patienceMs: number;
  readonly scheduler: SchedulerLike;
}

/** Maximum repetitions of a request: it may be the request itself that breaks the connection. */
const MAX_ASKED_AGAIN = 5;

/** A generation, over however many connections it takes. Its events leave in the order of their offsets, each once. */
export class RunningGeneration {
  readonly #context: GenerationContext;
  /** How often the server was sent the request. */
  #asked = 0;
  /** Whether it is under way on the server, as far as this side can know. */
  #started = false;
  /** Whether it can be resumed, as the server said; `null` until it has said so. */
  #saidResumable: boolean | null = null;
  #point: Pick<ResumePoint, 'responseId' | 'epoch'> | null = null;
  #nextOffset = 0;
  #cancelled = false;
  #patience = Subscription.EMPTY;

  constructor(context: GenerationContext) {
    this.#context = context;
    const { asked } = context;
    if ('responseId' in asked) {
      this.#point = asked;
      this.#nextOffset = asked.offset;
      this.#started = true;
    }
    this.#wait();
  }

  get responseId(): string | undefined {
    return this.#point?.responseId;
  }

  /** Whether it takes one of the places that the server has for a connection; else it is to be asked for. */
  get started(): boolean {
    return this.#started;
  }

  /** A connection is open. A generation with an id goes on; others wait for their turn. */
  connected(): void {
    this.#patience.unsubscribe();
    if (!this.#point) return;
    const { responseId, epoch } = this.#point;
    this.#context.send({
      type: 'generation.resume',
      response_id: responseId,
      epoch,
      offset: this.#nextOffset,
    });
  }

  /** Sends the request: it is its turn, and there is a connection. */
  ask(): void {
    const { asked, requestId, send } = this.#context;
    if ('responseId' in asked) return; // resumed by `connected`
    if (this.#asked > MAX_ASKED_AGAIN) {
      const text = `${this.#asked} connections were lost before an answer began`;
      this.fail(this.#error('connection_lost', text));
      return;
    }
    this.#asked += 1;
    this.#started = true;
    // The same request_id tells the server that the request is repeated: it drops the generation that it had begun.
    send({ type: 'generation.create', request_id: requestId, ...asked, resumable: this.#resumable });
  }

  /** The connection is gone, and will be tried again. */
  disconnected(error: FlinchError): void {
    if (this.#started && !this.#resumable) this.fail(error);
    else if (this.#cancelled && !this.#point) this.#finish();
    else if (this.#patience.closed) this.#wait();
    this.#started = this.#point !== null;
  }

  receive(event: OwnEvent): void {
    if (event.type === 'error') {
      this.#finish(FlinchError.fromServer(event.error, { responseId: event.response_id ?? this.responseId }));
    } else if (event.type === 'generation.resumed') {
      if (!event.recovered) this.fail(this.#error('not_recovered', 'the rest of the generation is lost'));
      else if (this.#cancelled) this.#sendCancel();
    } else this.#next(event);
  }

  /** Cancels: the subscriber is gone. */
  cancel(): void {
    this.#cancelled = true;
    // A generation that was requested but has no id yet is cancelled as soon as it has one.
    if (!this.#started) this.#finish();
    else if (this.#point) this.#sendCancel();
  }

  fail(error: FlinchError): void {
    this.#finish(error);
  }

  #next(event: GenerationEvent | UnknownEvent): void {
    const { offset } = event;
    if (offset === undefined || offset < this.#nextOffset) return; // it came before
    if (offset > this.#nextOffset) {
      this.#sendCancel();
      this.fail(this.#error('events_lost', `event ${this.#nextOffset} is missing; received ${offset}`));
      return;
    }
    this.#nextOffset += 1;
    if (event.type === 'unknown') return;
    if (event.type === 'generation.created') {
      this.#point = { responseId: event.response_id, epoch: event.epoch };
      this.#saidResumable = event.resumable;
      this.#context.named(event.response_id);
      if (this.#cancelled) this.#sendCancel();
    }
    this.#context.subscriber.next(event);
    if (event.type === 'generation.done') this.#finish();
  }

  get #resumable(): boolean {
    const { asked } = this.#context;
    return this.#saidResumable ?? ('responseId' in asked || (asked.resumable ?? true));
  }

  #sendCancel(): void {
    const id = this.responseId;
    if (id !== undefined) this.#context.send({ type: 'generation.cancel', response_id: id });
  }

  #wait(): void {
    const { scheduler, patienceMs } = this.#context;
    this.#patience = scheduler.schedule(() => {
      this.fail(this.#error('connection_lost', `there was no connection for ${patienceMs / 1000} s`));
    }, patienceMs);
  }

  #finish(error?: FlinchError): void {
    this.#patience.unsubscribe();
    this.#context.over();
    if (error) this.#context.subscriber.error(error);
    else this.#context.subscriber.complete();
  }

  #error(code: string, message: string): FlinchError {
    return new FlinchError(code, message, { responseId: this.responseId });
  }
}
