import { Observable, Subject } from 'rxjs';
import type { Asked } from '#gateway/answers/asked.js';
import type { ServedModel, Source } from '#gateway/index.js';
import { textRequest } from '#gateway/requests/generation-request.js';
import { completeGuard, guardSchema } from '#gateway/requests/guard-limits.js';
import type { GuardEvent } from '#src/stream/events.js';
import { METHODS } from '#src/uncertainty/method-names.js';
import { scriptedSource } from './scripted-model.js';

const ANSWER = ['Hello', ' there'];
const DONE: GuardEvent = {
  type: 'generation.done',
  finishReason: 'stop',
  usage: { promptTokens: 1, completionTokens: ANSWER.length },
};

/** A model without an engine. For `wait` it writes one token and then waits for the test; else it answers at once. */
export class WaitingModel implements ServedModel {
  readonly name = 'waiting';
  /** Last request to it. */
  asked: Asked | null = null;
  ready = true;
  /** Answers that have been waiting, ended ones included. */
  waited = 0;
  readonly #go = new Subject<void>();

  status() {
    return { ready: this.ready };
  }

  /** Lets all answers that wait be written. */
  finish(): void {
    this.#go.next();
  }

  async source(asked: Asked): Promise<Source> {
    const { messages } = textRequest(asked.fields);
    completeGuard(guardSchema.parse(asked.fields.guard), METHODS);
    this.asked = asked;
    return scriptedSource(() => this.#write(messages.at(-1)?.content === 'wait'));
  }

  #write(waits: boolean): Observable<GuardEvent> {
    return new Observable((subscriber) => {
      const [first = '', ...rest] = ANSWER;
      const write = (text: string, index: number): void =>
        subscriber.next({ type: 'token.delta', index, id: index, text, logprob: -0.5, topLogprobs: [] });
      const end = (): void => {
        for (const [i, text] of rest.entries()) write(text, i + 1);
        subscriber.next(DONE);
        subscriber.complete();
      };
      write(first, 0);
      if (!waits) return end();
      this.waited += 1;
      return this.#go.subscribe(end);
    });
  }
}

export const ask = (content: string, changes: object = {}) => ({
  model: 'waiting',
  messages: [{ role: 'user', content }],
  ...changes,
});
