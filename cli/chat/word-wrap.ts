import { stripVTControlCharacters } from 'node:util';
import type { Write } from './chat-painter.js';

/** Two columns wide, and a word of its own. */
const WIDE =
  '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}\\p{Emoji_Presentation}\\u3000-\\u303f\\uff00-\\uff60]';
const PARTS = new RegExp(`\\n|[^\\S\\n]+|${WIDE}|(?:(?!${WIDE})\\S)+`, 'gu');
const IS_WIDE = new RegExp(WIDE, 'u');

/**
 * Breaks lines before words that would not fit. A word is written once its end is known, at the latest at a line break.
 * @param columns that a line has at the moment
 */
export function wordWrap(write: (text: string) => void, columns: () => number): Write {
  let [column, blanks, word] = [0, '', ''];
  const endWord = (): void => {
    const [before, length] = [column + widthOf(blanks), widthOf(word)];
    const isFull = column > 0 && length > 0 && before + length > columns();
    write(`${isFull ? '\n' : blanks}${word}`);
    [column, blanks, word] = [isFull ? length : before + length, '', ''];
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

/** A tab is at most 8 wide. */
const widthOf = (text: string): number =>
  stripVTControlCharacters(text)
    .replace(/\p{M}/gu, '')
    .replaceAll('\t', ' '.repeat(8))
    .replace(new RegExp(WIDE, 'gu'), '  ').length;
