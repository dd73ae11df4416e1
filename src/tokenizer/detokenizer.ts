import type { Tokenizer } from './tokenizer.js';

/**
 * Text from tokens as they come. A character that is spread over several tokens appears with the last of them; all
 * pieces together are `tokenizer.decode` of all ids.
 *
 * @example
 * const text = new Detokenizer(tokenizer);
 * for (const id of ids) process.stdout.write(text.push(id));
 * process.stdout.write(text.flush());
 */
export class Detokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  /** How many more spaces to drop, while the text has not begun. */
  #leadingSpaces: number;

  /** The last bytes, at most three: what an unfinished character can have. */
  #tail: readonly number[] = [];

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
    this.#leadingSpaces = tokenizer.leadingSpaces;
  }

  /** The text has begun already: from here on no space is dropped. */
  begin(): void {
    this.#leadingSpaces = 0;
  }

  /** The text that this token completes, possibly none. */
  push(id: number): string {
    const bytes = this.#tokenizer.tokenBytes(id);
    let start = 0;
    while (this.#leadingSpaces > 0 && start < bytes.length) {
      if (bytes[start] === 0x20) {
        start++;
        this.#leadingSpaces--;
      } else {
        this.#leadingSpaces = 0;
      }
    }
    this.#tail = [...this.#tail, ...bytes.subarray(start)].slice(-3);
    return this.#utf8.decode(bytes.subarray(start), { stream: true });
  }

  /** Whether the text so far ends within a character that later tokens may finish. */
  get pending(): boolean {
    const lead = this.#tail.findLastIndex((byte) => (byte & 0xc0) !== 0x80);
    const byte = this.#tail[lead] ?? 0;
    const length = byte < 0xc2 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 1;
    return this.#tail.length - lead < length;
  }

  /** Ends the text: what is left of an unfinished character, as U+FFFD. The next token begins a new text. */
  flush(): string {
    this.#leadingSpaces = this.#tokenizer.leadingSpaces;
    this.#tail = [];
    return this.#utf8.decode();
  }
}
