import type { EngineError } from './engine-errors.js';

/**
 * Queue of messages for one reader, or an error that ends it. The sender limits its length: by credit, or by
 * asking one question at a time.
 */
export class Inbox<T> {
  readonly #messages: T[] = [];
  #error: EngineError | null = null;
  #wake: (() => void) | null = null;

  get awaited(): boolean {
    return this.#wake !== null;
  }

  put(message: T): void {
    this.#messages.push(message);
    this.#wake?.();
  }

  fail(error: EngineError): void {
    this.#error ??= error;
    this.#wake?.();
  }

  /** @throws EngineError once all messages are read */
  async take(): Promise<T> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) return message;
      if (this.#error) throw this.#error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }
}
