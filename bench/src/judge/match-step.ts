import type { Span } from '../steps/first-wrong-step.js';

/** Position in a response of a text that a judge quoted from it. */
export interface StepMatch {
  readonly span: Span;
  /** 1 for the very text, or the same but for spaces and markup; else 1 − edits / length of the quoted text. */
  readonly similarity: number;
}

/** Below this a quotation is of nothing in the response (docs/design/evaluation.md, section 7.2). */
export const ACCEPTED_SIMILARITY = 0.8;

/** Texts beyond it are cut: the time of the search is the product of both lengths. */
const MAX_QUOTED = 2000;

/**
 * Finds a quoted step in a response: as it stands, else without regard to white space, case and markup, else where the
 * fewest edits make it of a piece of the response (approximate matching after Sellers, 1980). Of equal places the first.
 * @returns `null` where not even the best place is similar enough
 */
export function matchStep(quoted: string, response: string): StepMatch | null {
  const step = quoted.trim();
  const pattern = plain(step.slice(0, MAX_QUOTED)).text;
  if (pattern === '') return null;
  const exact = response.indexOf(step);
  if (exact >= 0) return { span: [exact, exact + step.length], similarity: 1 };
  const { text, places } = plain(response);
  const same = text.indexOf(pattern);
  const found = same >= 0 ? { start: same, end: same + pattern.length, edits: 0 } : closest(pattern, text);
  const similarity = 1 - found.edits / pattern.length;
  if (similarity < ACCEPTED_SIMILARITY || found.end === found.start) return null;
  return { span: [places[found.start]!, places[found.end - 1]! + 1], similarity };
}

const MARKUP = new Set('*_`#$\\()[]{}"“”\'‘’');

/** Lower case, without markup, white space as single blanks; and where each character was. */
function plain(text: string): { readonly text: string; readonly places: readonly number[] } {
  let result = '';
  const places: number[] = [];
  for (let i = 0; i < text.length; i += 1) {
    const unit = text[i]!;
    if (MARKUP.has(unit)) continue;
    const space = /\s/.test(unit);
    if (space && (result === '' || result.endsWith(' '))) continue;
    const lower = space ? ' ' : unit.toLowerCase();
    result += lower.length === 1 ? lower : unit;
    places.push(i);
  }
  return result.endsWith(' ') ? { text: result.slice(0, -1), places } : { text: result, places };
}

interface Match {
  readonly start: number;
  readonly end: number;
  readonly edits: number;
}

/** The piece of the text that the fewest insertions, deletions and substitutions make of the pattern. */
function closest(pattern: string, text: string): Match {
  // One column for each character of the text; for each prefix of the pattern its edits, and where its piece starts.
  let edits = Uint32Array.from({ length: pattern.length + 1 }, (_, i) => i);
  let starts = new Uint32Array(pattern.length + 1);
  let best: Match = { start: 0, end: 0, edits: pattern.length };
  for (let at = 0; at < text.length; at += 1) {
    const nextEdits = new Uint32Array(pattern.length + 1);
    const nextStarts = new Uint32Array(pattern.length + 1);
    nextStarts[0] = at + 1;
    for (let i = 1; i <= pattern.length; i += 1) {
      const replaced = edits[i - 1]! + (pattern[i - 1] === text[at] ? 0 : 1);
      const inserted = edits[i]! + 1;
      const deleted = nextEdits[i - 1]! + 1;
      const least = Math.min(replaced, inserted, deleted);
      nextEdits[i] = least;
      if (least === replaced) nextStarts[i] = i === 1 ? at : starts[i - 1]!;
      else nextStarts[i] = least === inserted ? starts[i]! : nextStarts[i - 1]!;
    }
    [edits, starts] = [nextEdits, nextStarts];
    const total = edits[pattern.length]!;
    if (total < best.edits) best = { start: starts[pattern.length]!, end: at + 1, edits: total };
  }
  return best;
}
