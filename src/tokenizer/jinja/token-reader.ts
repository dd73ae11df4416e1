import type { Token } from './lexer.js';

/** Parentheses within parentheses, blocks within blocks. */
const MOST_NESTED = 100;

export class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  protected get current(): Token {
    return this.#tokens[this.#at] ?? { type: 'eof', value: '', line: 0 };
  }

  protected next(): Token {
    const token = this.current;
    this.#at++;
    return token;
  }

  protected is(type: Token['type'], ...values: readonly string[]): boolean {
    return this.current.type === type && (values.length === 0 || values.includes(this.current.value));
  }

  protected accept(type: Token['type'], ...values: readonly string[]): boolean {
    const isHere = this.is(type, ...values);
    if (isHere) this.#at++;
    return isHere;
  }

  protected expect(type: Token['type'], ...values: readonly string[]): Token {
    if (!this.is(type, ...values))
      throw this.fault(`${values.join(' or ') || type} is missing before ${this.here()}`);
    return this.next();
  }

  protected fault(problem: string): SyntaxError {
    return new SyntaxError(`line ${this.current.line}: ${problem}`);
  }

  protected here(): string {
    const { type, value } = this.current;
    return value === ''
      ? ({ close: '"%}"', end: '"}}"', eof: 'the end' }[String(type)] ?? type)
      : JSON.stringify(value);
  }

  protected nested<T>(read: () => T): T {
    if (++this.#depth > MOST_NESTED) throw this.fault(`more than ${MOST_NESTED} levels within each other`);
    const value = read();
    this.#depth--;
    return value;
  }

  protected back(): void {
    this.#at--;
  }

  protected get following(): Token | undefined {
    return this.#tokens[this.#at + 1];
  }
}
