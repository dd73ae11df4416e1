import { TextLimitError } from '../../files/file-errors.js';

/** Characters that one step may make; what the whole template may make is less, and checked after each step. */
const MOST_AT_ONCE = 2 ** 26;

/** @throws TextLimitError before memory is taken */
export function checkLength(length: number): void {
  if (!(length <= MOST_AT_ONCE)) {
    throw new TextLimitError(`the chat template makes more than ${MOST_AT_ONCE} characters at once`);
  }
}

export function repeatText(text: string, times: number): string {
  checkLength(text.length * times);
  return text.repeat(Math.max(0, times));
}

export function joinTexts(texts: readonly string[], separator = ''): string {
  checkLength(texts.reduce((sum, { length }) => sum + length + separator.length, 0));
  return texts.join(separator);
}
