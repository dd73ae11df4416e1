import { Refused } from './faults.js';
import { escapeOf } from './repr.js';
import { isSpace, SPACE, stripped } from './text.js';

/** `open` and `close` are `{%` and `%}`, `print` and `end` are `{{` and `}}`. */
export interface Token {
  readonly type:
    | 'text'
    | 'open'
    | 'close'
    | 'print'
    | 'end'
    | 'name'
    | 'string'
    | 'int'
    | 'float'
    | 'operator'
    | 'eof';
  readonly value: string;
  readonly line: number;
}

const BLANK = `[${SPACE}]`;
const BEGIN = new RegExp(`\\{(?:%([-+]?)${BLANK}*raw${BLANK}*(?:-%\\}${BLANK}*|%\\})|([%{#])([-+]?))`, 'g');
const END_RAW = new RegExp(`\\{%([-+]?)${BLANK}*endraw${BLANK}*(?:\\+%\\}|-%\\}${BLANK}*|%\\}\\n?)`, 'g');
const END_COMMENT = new RegExp(`\\+#\\}|-#\\}${BLANK}*|#\\}\\n?`, 'g');
const END_BLOCK = new RegExp(`\\+%\\}|-%\\}${BLANK}*|%\\}\\n?`, 'y');
const END_PRINT = new RegExp(`-\\}\\}${BLANK}*|\\}\\}`, 'y');
const SPACES = new RegExp(`${BLANK}+`, 'y');
const NUMBER = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy;
const INT = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy;
const NAME = /[\p{L}\p{N}_]+/uy;
const STRING = /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y;
const OPERATOR = /\/\/|\*\*|[=!<>]=|[-+/*%~[\](){}<>=.:|,;]/y;

const KINDS: readonly (readonly [Token['type'], RegExp])[] = [
  ['float', NUMBER],
  ['int', INT],
  ['name', NAME],
  ['string', STRING],
  ['operator', OPERATOR],
];
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
      const [tag, rawSign, kind, sign] = begin;
      this.#text(begin.index, kind === undefined ? rawSign : sign, kind !== '{');
      this.#move(begin.index + tag.length);
      if (kind === undefined) this.#raw();
      else if (kind === '#') this.#move(this.#end(END_COMMENT, 'the comment'));
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

  #raw(): void {
    const end = this.#search(END_RAW);
    if (end === null) throw this.#fault('{% raw %} has no end');
    this.#text(end.index, end[1], true);
    this.#move(end.index + end[0].length);
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
  ...{
    '\n': '',
    '\\': '\\',
    "'": "'",
    '"': '"',
    a: '\x07',
    b: '\b',
    f: '\f',
    n: '\n',
    r: '\r',
    t: '\t',
    v: '\v',
  },
};

/** The text of a string between its quotes, with Python's escapes. */
export function unescaped(written: string): string {
  return written.replace(
    /\\(?:([0-7]{1,3})|x(.{0,2})|u(.{0,4})|U(.{0,8})|([\s\S]))/gu,
    (whole, octal?: string, two?: string, four?: string, eight?: string, character?: string) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      const digits = two ?? four ?? eight;
      if (digits === undefined) {
        // Jinja escapes other characters than those of ASCII before it reads the escapes.
        if (character !== undefined && character > '\x7f') return `\\${escapeOf(character).slice(1)}`;
        if (character === 'N') throw new Refused('"\\N{...}" in a string');
        return ESCAPES[character ?? ''] ?? whole;
      }
      const code = Number.parseInt(digits, 16);
      const length = two !== undefined ? 2 : four !== undefined ? 4 : 8;
      if (!/^[\da-f]+$/i.test(digits) || digits.length !== length || code > 0x10ffff) {
        throw new SyntaxError(`"${whole}" is not a character`);
      }
      return String.fromCodePoint(code);
    },
  );
}
