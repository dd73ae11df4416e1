import { ApiError } from '../errors/api-error.js';

/** How long a text may wait for its next part. */
const IDLE_MS = 120_000;

/** A text that the client has: it is scored, not written. It comes whole, or in parts. */
export class GivenText {
  /** Characters that it may have. */
  readonly #limit: number;
  #length = 0;
  #waiting = '';
  #ended = false;
  #failure: ApiError | null = null;
  #wake: (() => void) | null = null;

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  static whole(text: string, limit?: number): GivenText {
    const given = new GivenText(limit);
    given.append(text);
    given.end();
    return given;
  }

  /** Maximum tokens of a text that is complete; `null` while it may go on. */
  get mostTokens(): number | null {
    // Each has a byte at least; some tokenizers put a space before the text.
    return this.#ended ? Buffer.byteLength(this.#waiting) + 1 : null;
  }

  /** @throws ApiError 400 for a text that has ended */
  append(text: string): void {
    if (this.#ended) throw new ApiError('invalid_value', 'text: the text has ended', 'text');
    this.#length += text.length;
    if (this.#length > this.#limit) {
      const problem = `text: more than the limit of ${this.#limit} characters`;
      this.#failure = new ApiError('prompt_too_long', problem, 'text');
      this.#waiting = '';
    } else {
      this.#waiting += text;
    }
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /**
   * The next characters, at most so many; never ends within a character.
   * @returns `null` after the last
   * @throws ApiError 400 for a text that is too long, 408 where the next part does not come
   */
  async read(most: number): Promise<string | null> {
    while (this.#ready(most) === 0 && !this.#ended && !this.#failure) await this.#more();
    if (this.#failure) throw this.#failure;
    const text = this.#waiting.slice(0, this.#ready(most));
    this.#waiting = this.#waiting.slice(text.length);
    return text === '' ? null : text;
  }

  #ready(most: number): number {
    const length = Math.min(this.#waiting.length, most);
    const last = this.#waiting.charCodeAt(length - 1);
    const splits = last >= 0xd800 && last < 0xdc00 && (length < this.#waiting.length || !this.#ended);
    return splits ? length - 1 : length;
  }

  async #more(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const came = await new Promise<boolean>((resolve) => {
      this.#wake = () => resolve(true);
      timer = setTimeout(() => resolve(false), IDLE_MS).unref();
    });
    clearTimeout(timer);
    this.#wake = null;
    if (!came) {
      const seconds = IDLE_MS / 1000;
      throw new ApiError('request_timeout', `text: the next part did not come within ${seconds} s`);
    }
  }
}
