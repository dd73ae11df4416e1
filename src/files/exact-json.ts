import { endOfString } from './json-bounds.js';

/** RFC 8259, section 6. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Whole numbers that a double holds, as most are. */
const SHORT = /^(?:0|-?[1-9]\d{0,14})$/;

/**
 * A valid JSON text with something else in place of each number that JavaScript would write otherwise, such as
 * 12345678901234567, 1.10 or 1e400. Takes time in proportion to the text.
 * @param instead `null` leaves a number as it is
 */
export function replaceExact(json: string, instead: (number: string) => string | null): string {
  const parts: string[] = [];
  let written = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === MINUS || isDigit(code)) {
      const from = at;
      while (isOfNumber(json.charCodeAt(at + 1))) at += 1;
      const text = json.slice(from, at + 1);
      if (SHORT.test(text) || String(Number(text)) === text || !NUMBER.test(text)) continue;
      const other = instead(text);
      if (other === null) continue;
      parts.push(json.slice(written, from), other);
      written = at + 1;
    }
  }
  return written === 0 ? json : parts.join('') + json.slice(written);
}

/**
 * JSON in which a number without an exponent is a string where JavaScript would write it otherwise: `12345678901234567`,
 * `0.0000001` and `1.10` keep their digits.
 *
 * @throws SyntaxError as `JSON.parse`
 */
export function parseExactJson(text: string): unknown {
  const parsed: unknown = JSON.parse(text);
  const exact = replaceExact(text, (number) => (/[eE]/.test(number) ? null : `"${number}"`));
  return exact === text ? parsed : JSON.parse(exact);
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
/** Digits, and any of `+-.eE`. */
const isOfNumber = (code: number): boolean =>
  isDigit(code) || code === 0x2b || code === MINUS || code === 0x2e || (code | 0x20) === 0x65;
