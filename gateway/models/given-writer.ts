import { setImmediate } from 'node:timers/promises';
import { Observable } from 'rxjs';
import type { BranchWriter } from '../../src/guard/branch.js';
import type { WrittenEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import { Retokenizer } from '../../src/tokenizer/retokenizer.js';
import type { Tokenizer } from '../../src/tokenizer/tokenizer.js';
import { ApiError } from '../errors/api-error.js';
import type { GivenText } from '../requests/given-text.js';

/** Characters that are tokenised at once: other work of the process comes in between. */
const CHARACTERS_AT_ONCE = 4096;
/** Maximum characters without settled tokens: of a word, or of any text if it is unknown when a token is final. */
const MAX_WAITING = 8192;

export interface GivenWriterOptions {
  readonly text: GivenText;
  readonly tokenizer: Tokenizer;
  readonly promptTokens: number;
  /** Tokens that the text may have. */
  readonly room: number;
}

/** Writes a text that is given, as the tokens that the model would read it as. It is not continued otherwise. */
export class GivenWriter implements BranchWriter {
  readonly promptTokens: number;
  readonly #options: GivenWriterOptions;
  #written = 0;

  constructor(options: GivenWriterOptions) {
    this.promptTokens = options.promptTokens;
    this.#options = options;
  }

  get written(): number {
    return this.#written;
  }

  /** Errors with an ApiError: a text that cannot be scored whole is not scored. */
  tokens(gate: FlowGate): Observable<WrittenEvent> {
    const { text, tokenizer, room, promptTokens } = this.#options;
    return new Observable((subscriber) => {
      const write = async (): Promise<void> => {
        const retokenizer = new Retokenizer(tokenizer);
        for (let over = false; !over; await setImmediate()) {
          const part = await text.read(CHARACTERS_AT_ONCE);
          over = part === null;
          if (retokenizer.waiting.length > MAX_WAITING) throw tooLong();
          for (const token of over ? retokenizer.end() : retokenizer.push(part ?? '')) {
            if (!gate.open) await gate.opened();
            if (subscriber.closed) return;
            if (this.#written === room) throw noRoom(promptTokens, room);
            const index = this.#written++;
            subscriber.next({ type: 'token.delta', index, ...token, logprob: null, topLogprobs: [] });
          }
        }
        const usage = { promptTokens, completionTokens: this.#written };
        subscriber.next({ type: 'generation.done', finishReason: 'stop', usage });
        subscriber.complete();
      };
      write().catch((error: unknown) => subscriber.error(error));
      return () => text.end();
    });
  }

  fits(): boolean {
    return false;
  }

  async fork(): Promise<never> {
    throw new RangeError('a text that is given is not written again');
  }

  close(): void {}
}

function tooLong(): ApiError {
  const problem = `text: the tokens of more than ${MAX_WAITING} characters are not settled, as in a long word`;
  return new ApiError('invalid_value', problem, 'text');
}

function noRoom(promptTokens: number, room: number): ApiError {
  const problem = `text: more than the ${room} tokens that are left in the context after the prompt of ${promptTokens}`;
  return new ApiError('context_length_exceeded', problem, 'text');
}
