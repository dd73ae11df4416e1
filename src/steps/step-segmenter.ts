import { maskEnd, opensMask } from './formulas-and-code.js';
import { endsSentence, isFullStop, isMarkerLine, isSpace, skipEnding } from './sentence-breaks.js';

/** `sentence`: sentences and lines. `paragraph`: what blank lines separate, as in ProcessBench. */
export type StepMode = 'sentence' | 'paragraph';

/** Characters `start` to `end − 1` (UTF-16 units) of the text; white space after a step belongs to it. */
export interface TextStep {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** No step is longer, in UTF-16 units: formulas, code and lists that never end must not hold up a stream for good. */
export const MAX_STEP_LENGTH = 2000;
/** A piece with fewer characters, white space aside, is no step. */
const MIN_CHARACTERS = 3;

/**
 * Splits a text into steps while it grows. A step is given out once no continuation can change it, so the steps do
 * not depend on how the text is cut into pushes; together they are the text.
 *
 * In mode `sentence` a step ends, outside formulas and code, at a newline, and where a sentence ends and another
 * begins. A line that is only a marker ("1.", "##") belongs to the next; a piece of fewer than 3 characters to the
 * step before it, and at the start of the text to the step after it. What is longer than {@link MAX_STEP_LENGTH} is
 * cut at its last white space. In mode `paragraph` only blank lines and that length count.
 *
 * @example
 * const steps = new StepSegmenter();
 * steps.push('2 + 3 = 5. The ans'); // [{ start: 0, end: 11, text: '2 + 3 = 5. ' }]
 * steps.push('wer is 5.'); // []: it may go on
 * steps.end(); // [{ start: 11, end: 27, text: 'The answer is 5.' }]
 */
export class StepSegmenter {
  readonly #mode: StepMode;
  /** The text from the start of the current step on. */
  #rest = '';
  #start = 0;
  /** How far it was read. */
  #scans: Scans = new Map();

  constructor(mode: StepMode = 'sentence') {
    this.#mode = mode;
  }

  /** @returns the steps that are now certain */
  push(text: string): TextStep[] {
    this.#rest += text;
    return this.#take(false);
  }

  /** The text ends here. The segmenter can then begin another text. */
  end(): TextStep[] {
    const steps = this.#take(true);
    this.#start = 0;
    return steps;
  }

  #take(final: boolean): TextStep[] {
    const steps: TextStep[] = [];
    while (this.#rest !== '') {
      const length = stepLength(this.#rest, this.#mode, final, this.#scans);
      if (length === null) break;
      const end = this.#start + length;
      steps.push({ start: this.#start, end, text: this.#rest.slice(0, length) });
      this.#start = end;
      this.#rest = this.#rest.slice(length);
      this.#scans = new Map();
    }
    return steps;
  }
}

/**
 * The steps of a whole text, by the same rules.
 *
 * @example
 * segmentText('One.\nTwo.').map(({ text }) => text); // ['One.\n', 'Two.']
 */
export function segmentText(text: string, mode: StepMode = 'sentence'): TextStep[] {
  const segmenter = new StepSegmenter(mode);
  return [...segmenter.push(text), ...segmenter.end()];
}

/**
 * The length of the first step of the text; `null` while a continuation may change it. What is given for a text is
 * given for each that begins with it: hence a long one is judged by as much of it as a stream would have waited for.
 */
function stepLength(text: string, mode: StepMode, final: boolean, scans: Scans): number | null {
  if (text.length <= MAX_STEP_LENGTH) return settledLength(text, mode, final, scans);
  const head = text.slice(0, MAX_STEP_LENGTH + 1);
  return settledLength(head, mode, false, scans) ?? cutLength(head);
}

function settledLength(text: string, mode: StepMode, final: boolean, scans: Scans): number | null {
  let { end } = nextPiece(text, 0, mode, final, scans);
  while (end !== null && end < text.length) {
    const next = nextPiece(text, end, mode, final, scans);
    const long = (from: number, to: number) => characters(text.slice(from, to)) >= MIN_CHARACTERS;
    const settled = mode === 'paragraph' || (long(0, end) && long(end, next.end ?? next.sure));
    if (settled) return end;
    end = next.end;
  }
  return end;
}

function characters(text: string): number {
  return text.match(/\S/gu)?.length ?? 0;
}

function cutLength(text: string): number {
  const head = text.slice(0, MAX_STEP_LENGTH);
  const space = head.search(/\s\S*$/);
  if (head.slice(0, Math.max(0, space)).trim() !== '') return space + 1;
  return isHighSurrogate(head, head.length - 1) ? head.length - 1 : head.length;
}

interface Piece {
  /** Start of the next piece; `null` while that is not certain. */
  readonly end: number | null;
  /** End of the text that certainly belongs to the piece. */
  readonly sure: number;
}

/** A place in a piece up to which no continuation of the text can change what was found: there is no break. */
interface Scan {
  readonly at: number;
  readonly line: number;
  readonly lineText: number;
}

/** Scans by the start of their piece. Without them every push would read a long step from its beginning. */
type Scans = Map<number, Scan>;

/** The piece of text from `start` to the next break. */
function nextPiece(text: string, start: number, mode: StepMode, final: boolean, scans: Scans): Piece {
  const masks = mode === 'sentence';
  /** A formula may have opened: if it has, what follows is no break. */
  let open = false;
  /** A mark after the last white space may become a formula. */
  let marked = false;
  const known = scans.get(start);
  let line = known?.line ?? start;
  let lineText = known?.lineText ?? skipSpace(text, start);
  let i = known?.at ?? lineText;
  // White space that begins a piece may go on.
  let settled = known?.at ?? start;
  let settledLine = { line, lineText };
  const piece = (end: number | null, sure: number): Piece => {
    if (settled > start) scans.set(start, { at: settled, ...settledLine });
    return { end, sure };
  };
  const breakAt = (at: number): Piece => piece(open ? null : at, at);

  while (i < text.length) {
    if (isSpace(text[i]!)) {
      const next = skipSpace(text, i);
      if (next === text.length) break;
      // Half a character does not tell whether it is upper case.
      if (!final && next === text.length - 1 && isHighSurrogate(text, next)) return piece(null, next);
      if (isBreak(text, line, i, next, mode)) return breakAt(next);
      if (text.slice(i, next).includes('\n')) line = lineText = next;
      i = next;
      marked = false;
      if (!open) {
        settled = i;
        settledLine = { line, lineText };
      }
      continue;
    }
    if (!opensMask(text[i]!) && !isFullStop(text[i]!)) {
      i += 1;
      if (!open && !marked) settled = i;
      continue;
    }
    marked = true;
    const mask = masks ? maskEnd(text, i, i === lineText, final) : 'none';
    if (typeof mask === 'number') {
      i = mask;
      continue;
    }
    open ||= mask === 'unknown';
    if (masks && isFullStop(text[i]!)) {
      i = skipEnding(text, i);
      if (i < text.length && !isSpace(text[i]!)) return breakAt(i);
    } else {
      i += text[i] === '\\' && (text[i + 1] === '\\' || text[i + 1] === '$') ? 2 : 1;
    }
  }
  return piece(final ? text.length : null, text.length);
}

/** @param gap white space that ends before `next` */
function isBreak(text: string, line: number, gap: number, next: number, mode: StepMode): boolean {
  const newlines = text.slice(gap, next).split('\n').length - 1;
  if (mode === 'paragraph') return newlines > 1;
  if (newlines > 0) return !isMarkerLine(text.slice(line, gap));
  return endsSentence(text, line, gap, String.fromCodePoint(text.codePointAt(next)!));
}

function skipSpace(text: string, from: number): number {
  let i = from;
  while (i < text.length && isSpace(text[i]!)) i += 1;
  return i;
}

function isHighSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xdc00;
}
