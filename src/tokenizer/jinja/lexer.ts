import { Refused } from './faults.js';
import { isSpace, SPACE, stripped } from './text.js';

/** `open` and `close` are `{%` and `%}`, `print` and `end` are `{{` and `}}`. */
export interface Token {
  readonly type: 'text' | 'open' | 'close' | 'print' | 'end' | 'eof' | (typeof KINDS)[number][0];
  readonly value: string;
  readonly line: number;
}

const BLANK = `[${SPACE}]`;
const BEGIN = /\{([%{#])([-+]?)/g;
const END_COMMENT = new RegExp(`\\+#\\}|-#\\}${BLANK}*|#\\}\\n?`, 'g');
const END_BLOCK = new RegExp(`\\+%\\}|-%\\}${BLANK}*|%\\}\\n?`, 'y');
const END_PRINT = new RegExp(`-\\}\\}${BLANK}*|\\}\\}`, 'y');
const SPACES = new RegExp(`${BLANK}+`, 'y');
const NUMBER = /(?<!\.)\d+(?:(?:\.\d+)?e[+-]?\d+|\.\d+)/iy;
const INT = /[1-9]\d*|0+(?!\d)/y;
const NAME = /[\p{L}\p{N}_]+/uy;
const STRING = /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y;
const OPERATOR = /\/\/|\*\*|[=!<>]=|[-+/*%~[\](){}<>=.:|,;]/y;

const KINDS = [
  ['float', NUMBER],
  ['int', INT],
  ['name', NAME],
  ['string', STRING],
  ['operator', OPERATOR],
] as const;
const PAIRS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/**
 * Tokens of a template as Jinja reads it with `trim_blocks` and `lstrip_blocks`: every line end becomes that of Unix, one
 * at the end is left out, so is one behind a block, and the indent before a block on a line of its own.
 */
export function tokenize(template: string): Token[] {
  const source = template.replace(/\r\n?/g, '\n').replace(/\n$/, '');
  return new Lexer(source).tokens();
}

class Lexer {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;
  #line = 1;
  #countedTo = 0;
  /** Whether what was read before ends a line. */
  #startsLine = true;

  constructor(source: string) {
    this.#source = source;
  }

  tokens(): Token[] {
    while (this.#at < this.#source.length) {
      const begin = this.#search(BEGIN);
      if (begin === null) {
        this.#push('text', this.#source.slice(this.#at));
        break;
      }
      const [tag, kind, sign] = begin;
      this.#text(begin.index, sign, kind !== '{');
      this.#move(begin.index + tag.length);
      if (kind === '#') this.#move(this.#end(END_COMMENT, 'the comment'));
      else this.#tag(kind === '{');
    }
    this.#push('eof', '');
    return this.#tokens;
  }

  /** Text up to a tag, without the white space that the tag takes. */
  #text(end: number, sign: string | undefined, isBlock: boolean): void {
    const text = this.#source.slice(this.#at, end);
    this.#push('text', this.#kept(text, sign, isBlock));
  }

  #kept(text: string, sign: string | undefined, isBlock: boolean): string {
    if (sign === '-') return stripped(text, null, false, true);
    if (sign === '+' || !isBlock) return text;
    const lineAt = text.lastIndexOf('\n') + 1;
    const isIndent = (lineAt > 0 || this.#startsLine) && [...text.slice(lineAt)].every(isSpace);
    return isIndent ? text.slice(0, lineAt) : text;
  }

  #tag(isPrint: boolean): void {
    this.#push(isPrint ? 'print' : 'open', '');
    const open: string[] = [];
    const ending = isPrint ? END_PRINT : END_BLOCK;
    while (this.#at < this.#source.length) {
      const end = open.length === 0 ? this.#match(ending) : undefined;
      if (end !== undefined) {
        this.#push(isPrint ? 'end' : 'close', '');
        this.#move(this.#at + end.length);
        return;
      }
      const blank = this.#match(SPACES);
      if (blank !== undefined) {
        this.#move(this.#at + blank.length);
        continue;
      }
      const [type, text] = this.#next();
      if (type === 'operator') balance(open, text, () => this.#fault(`unexpected "${text}"`));
      this.#push(type, text);
      this.#move(this.#at + text.length);
    }
    throw this.#fault(isPrint ? '{{ has no end' : '{% has no end');
  }

  #next(): readonly [Token['type'], string] {
    for (const [type, pattern] of KINDS) {
      const text = this.#match(pattern);
      if (text === undefined) continue;
      if (type === 'name' && !/^[\p{L}_]/u.test(text)) throw this.#fault(`"${text}" is not a name`);
      return [type, text];
    }
    throw this.#fault(`unexpected character ${JSON.stringify(this.#source[this.#at])}`);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#source)?.[0];
  }

  #search(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#source);
  }

  #end(pattern: RegExp, of: string): number {
    const end = this.#search(pattern);
    if (end === null) throw this.#fault(`${of} has no end`);
    return end.index + end[0].length;
  }

  #push(type: Token['type'], value: string): void {
    if (type !== 'text' || value !== '') this.#tokens.push({ type, value, line: this.#lineNow() });
  }

  #move(to: number): void {
    this.#at = to;
    this.#startsLine = this.#source[to - 1] === '\n';
  }

  #lineNow(): number {
    for (; this.#countedTo < this.#at; this.#countedTo++)
      if (this.#source[this.#countedTo] === '\n') this.#line++;
    return this.#line;
  }

  #fault(problem: string): SyntaxError {
    return new SyntaxError(`line ${this.#lineNow()}: ${problem}`);
  }
}

function balance(open: string[], text: string, fault: () => SyntaxError): void {
  const closing = PAIRS[text];
  if (closing !== undefined) open.push(closing);
  else if (Object.values(PAIRS).includes(text) && open.pop() !== text) throw fault();
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** The text of a string between its quotes, with Python's escapes. */
export function unescaped(written: string): string {
  return written.replace(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|([\s\S]))/gu,
    (whole, two: string | undefined, four: string | undefined, character = '') => {
      const digits = two ?? four;
      if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16));
      // Jinja escapes other characters than those of ASCII before it reads the escapes.
      if (/[abfvNUux0-7]|[^\0-\x7f]/.test(character)) throw new Refused(`"${whole}" in a string`);
      return ESCAPES[character] ?? whole;
    },
  );
}
