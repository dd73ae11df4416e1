import { type StepMode, segmentText } from 'flinch';

/** Tokens of a response, from and up to but without. */
export interface TokenRange {
  readonly start: number;
  readonly end: number;
}

/** A step of a response: which tokens belong to it, and where its text is. */
export interface ResponseStep {
  readonly tokens: TokenRange;
  /** UTF-16 code units, from and up to but without; white space after a step belongs to it. */
  readonly span: readonly [start: number, end: number];
}

/**
 * The steps of a finished response. A token belongs to the step that holds its first character that is not white space;
 * a white one to the step of the token before it. A step in which no token begins is joined to the next, or to the last
 * if there is none.
 * @param mode how the text is cut into steps; or the steps that it was joined from, with blank lines between
 */
export function responseSteps(
  tokenTexts: readonly string[],
  mode: StepMode | readonly string[],
): ResponseStep[] {
  const ends =
    typeof mode === 'string' ? segmentText(tokenTexts.join(''), mode).map(({ end }) => end) : endsOf(mode);
  const places = placesOf(tokenTexts);
  const steps: ResponseStep[] = [];
  let [token, start] = [0, 0];
  for (const [i, end] of ends.entries()) {
    let next = token;
    while (next < places.length && (places[next]! < end || i === ends.length - 1)) next += 1;
    if (next === token && i < ends.length - 1) continue;
    const last = next === token ? steps.pop() : undefined;
    steps.push({
      tokens: { start: last?.tokens.start ?? token, end: next },
      span: [last?.span[0] ?? start, end],
    });
    [token, start] = [next, end];
  }
  return token === 0 ? [] : steps;
}

/** End of each step, and of the blank line after it. */
function endsOf(steps: readonly string[]): number[] {
  let end = 0;
  return steps.map((step, i) => {
    end += step.length + (i < steps.length - 1 ? GIVEN_SEPARATOR.length : 0);
    return end;
  });
}

/** Separator of the steps of a response that came in steps. */
export const GIVEN_SEPARATOR = '\n\n';

/** Position of the character of each token that determines its step. */
function placesOf(tokenTexts: readonly string[]): number[] {
  const places: number[] = [];
  let length = 0;
  for (const [i, text] of tokenTexts.entries()) {
    const white = text.search(/\S/);
    places.push(white < 0 ? (places[i - 1] ?? 0) : length + white);
    // Empty tokens hold the first bytes of a character that this one completes: they go where that is.
    for (let j = i - 1; white === 0 && tokenTexts[j] === ''; j -= 1) places[j] = length;
    length += text.length;
  }
  return places;
}

/** Letters and digits, or one other character. */
const FIRST_WORD = /^\s*(?:[\p{L}\p{M}\p{N}]+|\S)/u;

/**
 * Whether each token is not in the first word of a step: first words show how a step is begun, which any
 * measure of likelihood takes for hesitation if there are many ways to begin one.
 */
export function innerTokens(tokenTexts: readonly string[], steps: readonly ResponseStep[]): boolean[] {
  const text = tokenTexts.join('');
  const inner = tokenTexts.map(() => true);
  for (const { span } of steps) {
    const word = FIRST_WORD.exec(text.slice(...span))?.[0] ?? '';
    const begin = span[0] + word.length - word.trimStart().length;
    const range = tokensIn(tokenTexts, [begin, span[0] + word.length]);
    if (range) inner.fill(false, range.start, range.end);
  }
  return inner;
}

/** The tokens that overlap a span of the response's text; `null` where none does. */
export function tokensIn(
  tokenTexts: readonly string[],
  [start, end]: readonly [start: number, end: number],
): TokenRange | null {
  let at = 0;
  let [first, last] = [-1, -1];
  for (const [i, { length }] of tokenTexts.entries()) {
    if (length > 0 && at < end && at + length > start) {
      if (first < 0) first = i;
      last = i;
    }
    at += length;
  }
  return first < 0 ? null : { start: first, end: last + 1 };
}
