/** Characters that a text so far has at least: the beginning of a word may be another word. */
const LEAST = 3;

/**
 * A string that is said more than once: a text in parts, unless each mention has the whole of the one before. Then it was
 * said again, or so far as it was written. A mention that begins or ends with white space is never the whole of one.
 *
 * @example
 * new JoinedText('get_').add('weather').whole; // 'get_weather'
 * new JoinedText('STOP').add('STOP').whole; // 'STOP'
 * new JoinedText('One').add('One two.').whole; // 'One two.'
 */
export class JoinedText {
  #parts: string;
  #last: string;
  #again = true;

  constructor(first: string) {
    this.#parts = this.#last = first;
  }

  add(next: string): this {
    this.#again &&= isAgain(this.#last, next);
    this.#parts += next;
    this.#last = next;
    return this;
  }

  get whole(): string {
    return this.#again ? this.#last : this.#parts;
  }
}

function isAgain(before: string, next: string): boolean {
  if (next === before) return next.trim() === next;
  return before.length >= LEAST && next.startsWith(before);
}
