import { stripVTControlCharacters } from 'node:util';
import type { Write } from './chat-painter.js';

/** Two columns wide, and a word of its own. */
const WIDE =
  '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}\\p{Emoji_Presentation}\\u3000-\\u303f\\uff00-\\uff60]';
/** A line break, blanks, a wide character, and other characters. */
const PARTS = new RegExp(`\\n|[^\\S\\n]+|${WIDE}\\p{M}*|(?:(?!${WIDE})\\S)+`, 'gu');
const IS_WIDE = new RegExp(WIDE, 'u');
const IS_MARK = /\p{M}/u;

/**
 * Breaks lines before words that would not fit. A word is written once its end is known, at the latest at a line break.
 * @param columns that a line has at the moment
 */
export function wordWrap(write: (text: string) => void, columns: () => number): Write {
  let column = 0;
  let blanks = '';
  let word = '';
  const endWord = (): void => {
    const before = column + widthOf(blanks);
    const length = widthOf(word);
    const isFull = column > 0 && length > 0 && before + length > columns();
    write(`${isFull ? '\n' : blanks}${word}`);
    column = isFull ? length : before + length;
    blanks = '';
    word = '';
  };
  return (text, style = (part) => part) => {
    for (const [part] of text.matchAll(PARTS)) {
      const isBlank = part.trim() === '';
      if (isBlank || IS_WIDE.test(part)) endWord();
      if (part === '\n') {
        write(part);
        column = 0;
      } else if (isBlank) blanks += style(part);
      else word += style(part);
    }
  };
}

const TAB = 8;

function widthOf(text: string): number {
  const widths = [...stripVTControlCharacters(text)].map((each) => {
    if (each === '\t') return TAB; // at most
    return IS_MARK.test(each) ? 0 : IS_WIDE.test(each) ? 2 : 1;
  });
  return widths.reduce<number>((sum, width) => sum + width, 0);
}
