import type { ClientMessage, GenerationEvent, Message, ServerEvent } from './protocol.js';
import { type Answer, type AnswerFailed, answerText, isOver, newAnswer, reduce } from './state.js';
import { describeError } from './words.js';

export interface Exchange {
  readonly requestId: string;
  readonly question: string;
  readonly answer: Answer;
}

export interface AskOptions {
  readonly model: string;
  /** Absent: the model's own. */
  readonly temperature?: number;
  /** Whether the model is told the earlier questions and answers too. */
  readonly remember: boolean;
}

export interface SessionListener {
  changed(exchange: Exchange): void;
  /** An error that concerns no exchange. */
  notice(words: string): void;
}

/** The exchanges of this page and their way over the connection. Knows no DOM and no socket. */
export class Session {
  readonly #send: (message: ClientMessage) => boolean;
  readonly #nowMs: () => number;
  readonly #listener: SessionListener;
  readonly #exchanges = new Map<string, Exchange>();
  readonly #stopping = new Set<string>();

  constructor(send: (message: ClientMessage) => boolean, nowMs: () => number, listener: SessionListener) {
    this.#send = send;
    this.#nowMs = nowMs;
    this.#listener = listener;
  }

  get exchanges(): Exchange[] {
    return [...this.#exchanges.values()];
  }

  /** The exchange whose answer is being written; there is at most one. */
  get current(): Exchange | null {
    return this.exchanges.find(({ answer }) => !isOver(answer)) ?? null;
  }

  ask(question: string, { model, temperature, remember }: AskOptions): void {
    const requestId = `page-${this.#exchanges.size}`;
    const messages = [...(remember ? this.#history() : []), { role: 'user' as const, content: question }];
    this.#set({ requestId, question, answer: newAnswer(model) });
    const sent = this.#send({
      type: 'generation.create',
      request_id: requestId,
      model,
      messages,
      ...(temperature === undefined ? {} : { temperature }),
    });
    if (!sent)
      this.#apply(requestId, { type: 'answer.failed', reason: 'There is no connection to the server.' });
  }

  /** Cancels the answer under way; one that has no id yet as soon as it gets one. */
  stop(): void {
    const exchange = this.current;
    if (!exchange) return;
    const { responseId } = exchange.answer;
    if (responseId === null) this.#stopping.add(exchange.requestId);
    else this.#cancel(responseId);
  }

  receive(event: ServerEvent): void {
    if (event.type === 'error') {
      const reason = describeError(event.message, event.code);
      const exchange = this.#find(event.request_id, event.response_id);
      if (exchange) this.#apply(exchange.requestId, { type: 'answer.failed', reason });
      // A cancel that crossed the end of its answer: nobody needs to know.
      else if (event.code !== 'unknown_response') this.#listener.notice(reason);
      return;
    }
    const requestId = event.type === 'generation.created' ? event.request_id : null;
    const exchange = this.#find(requestId, event.response_id);
    if (!exchange || isOver(exchange.answer)) return;
    this.#apply(exchange.requestId, event);
    // It failed here, on a gap in its events: the server knows nothing of that and would go on writing.
    if (this.#exchanges.get(exchange.requestId)?.answer.phase === 'failed') this.#cancel(event.response_id);
    if (event.type === 'generation.created' && this.#stopping.delete(exchange.requestId)) this.stop();
  }

  /** The answer under way has failed: the connection is gone, or what came over it makes no sense. */
  fail(reason: string): void {
    const exchange = this.current;
    if (!exchange) return;
    this.stop();
    this.#apply(exchange.requestId, { type: 'answer.failed', reason });
  }

  #cancel(responseId: string): void {
    this.#send({ type: 'generation.cancel', response_id: responseId });
  }

  #apply(requestId: string, event: GenerationEvent | AnswerFailed): void {
    const exchange = this.#exchanges.get(requestId);
    if (!exchange) return;
    const answer = reduce(exchange.answer, event, this.#nowMs());
    if (answer !== exchange.answer) this.#set({ ...exchange, answer });
  }

  #set(exchange: Exchange): void {
    this.#exchanges.set(exchange.requestId, exchange);
    this.#listener.changed(exchange);
  }

  #find(requestId: string | null, responseId: string | null): Exchange | undefined {
    const byRequest = requestId === null ? undefined : this.#exchanges.get(requestId);
    if (byRequest || responseId === null) return byRequest;
    return this.exchanges.find(({ answer }) => answer.responseId === responseId);
  }

  #history(): Message[] {
    return this.exchanges
      .filter(({ answer }) => answer.phase === 'done')
      .flatMap(({ question, answer }) => [
        { role: 'user', content: question },
        { role: 'assistant', content: answerText(answer) },
      ]);
  }
}
