import type { Context } from '@opentelemetry/api';
import { type MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { GuardEvent } from '../../src/stream/events.js';
import type { Asked } from './asked.js';
import type { AnswerAbout, ServedModel } from './served-model.js';

/** Hears of one answer. What it throws disturbs neither the answer nor the other observers. */
export interface AnswerObserver {
  /** The trace for whoever writes, if the observer has a span in it. */
  readonly trace?: Context | undefined;
  /**
   * The answer starts.
   * @param end ends it with an error
   */
  started?(answer: AnswerAbout, end: (error: unknown) => void): void;
  /** Each event of a guard as it is written, before steps are held back. */
  written?(event: GuardEvent): void;
  /** Each event as the client gets it. */
  told?(event: GuardEvent): void;
  over?(end: AnswerEnd): void;
}

/** An answer may fail before it starts. */
export type AnswerEnd = 'complete' | 'cancelled' | { readonly error: unknown };

/** @returns the observer of one answer; `null` for one that it leaves alone */
export type Observe = (asked: Asked, model: ServedModel) => AnswerObserver | null;

/** All observers of one answer. */
export class Observers {
  readonly #all: readonly AnswerObserver[];
  readonly #faulty: (error: unknown) => void;
  #over = false;

  /** @param faulty called with what an observer throws */
  constructor(
    all: readonly Observe[],
    { asked, model }: { readonly asked: Asked; readonly model: ServedModel },
    faulty: (error: unknown) => void,
  ) {
    this.#faulty = faulty;
    const own: AnswerObserver[] = [];
    for (const observe of all)
      this.#attempt(() => {
        const observer = observe(asked, model);
        if (observer) own.push(observer);
      });
    this.#all = own;
  }

  get trace(): Context | undefined {
    return this.#all.find(({ trace }) => trace)?.trace;
  }

  /** Tells all of an event of the guard. */
  readonly written = (event: GuardEvent): void => this.#event('written', event);

  /** The answer does not start. */
  refused(error: unknown): void {
    this.#end({ error });
  }

  /** The events of an answer, of which the observers hear. */
  follow(answer: AnswerAbout): MonoTypeOperatorFunction<GuardEvent> {
    return (events) =>
      new Observable((subscriber) => {
        const fail = (error: unknown): void => {
          this.#end({ error });
          subscriber.error(error);
        };
        for (const observer of this.#all) this.#attempt(() => observer.started?.(answer, fail));
        const subscription = events.subscribe({
          next: (event) => {
            this.#event('told', event);
            subscriber.next(event);
          },
          error: fail,
          complete: () => {
            this.#end('complete');
            subscriber.complete();
          },
        });
        return () => {
          subscription.unsubscribe();
          this.#end('cancelled');
        };
      });
  }

  /** Each token passes here: no function is made for it. */
  #event(what: 'written' | 'told', event: GuardEvent): void {
    for (const observer of this.#all) {
      if (this.#over) return; // one of them may have ended the answer
      try {
        observer[what]?.(event);
      } catch (error) {
        this.#faulty(error);
      }
    }
  }

  #end(end: AnswerEnd): void {
    if (this.#over) return;
    this.#over = true;
    for (const observer of this.#all) this.#attempt(() => observer.over?.(end));
  }

  #attempt(observe: () => void): void {
    try {
      observe();
    } catch (error) {
      this.#faulty(error);
    }
  }
}
