import type { PartOf } from '../../../src/steps/text-part.js';
import type { UpstreamPiece, UpstreamToken } from '../upstream.js';
import type { WrittenPart } from '../wire/beside-text.js';

/** A part of the answer whose tokens can be scored. */
type ScoredPart = WrittenPart & { readonly kind: NonNullable<PartOf['part']> };

export const isPart = (part: WrittenPart): part is ScoredPart =>
  part.kind === 'reasoning' || part.kind === 'tool_calls';

interface Said {
  readonly text: string;
  readonly parts: readonly WrittenPart[];
  /** How many of the tokens came with earlier chunks, which said nothing. */
  readonly earlier: number;
  readonly last: PartOf;
  /** Whether the answer has ended: the last token may be the one that ended it. */
  readonly ended: boolean;
}

interface Placed {
  readonly pieces: readonly UpstreamPiece[];
  readonly last: PartOf;
  /** Tokens of which it is still to be seen what they are of. */
  readonly rest: readonly UpstreamToken[];
}

/**
 * Assigns tokens to the parts of a chunk, given all tokens since the chunk before: reasoning, then text, then
 * tool calls. Calls in one chunk are not told apart.
 *
 * @returns `null` where the tokens do not form what is said
 *
 * @example
 * // ['Hm', '</think>', 'Yes'] with a reasoning 'Hm' and the text 'Yes': the first two are of the reasoning.
 */
export function placedParts(tokens: readonly UpstreamToken[], said: Said): Placed | null {
  const { text, last } = said;
  const parts = said.parts.filter(isPart);
  const reasoning = parts.find(({ kind }) => kind === 'reasoning');
  const call = parts.find(({ kind }) => kind === 'tool_calls');
  const from = textOf(tokens.slice(0, said.earlier)).length;
  if (text === '') return withoutText(tokens, { reasoning, call, from, ended: said.ended });
  const found = splitOf(tokens, text, reasoning ? endOf(tokens, reasoning, from) : from);
  if (!found || (reasoning && !tells(found.before, reasoning))) return null;
  const { before, inside, after, spelt } = found;
  const marks = apartFrom(before, reasoning ? ofPart(reasoning) : last);
  const own: UpstreamPiece = { text, tokens: inside, ids: null, ...(spelt !== text && { spelt }) };
  if (!call) return { pieces: [...marks, own], last: {}, rest: after };
  const next = withoutText(after, { reasoning: undefined, call, from: 0, ended: said.ended });
  return next && { ...next, pieces: [...marks, own, ...next.pieces] };
}

interface Apart {
  readonly reasoning: ScoredPart | undefined;
  readonly call: ScoredPart | undefined;
  readonly from: number;
  readonly ended: boolean;
}

function withoutText(
  tokens: readonly UpstreamToken[],
  { reasoning, call, from, ended }: Apart,
): Placed | null {
  const part = call ?? reasoning;
  if (!part || (reasoning && !tells(tokens, reasoning))) return null;
  const last = ofPart(part);
  const split = call && reasoning ? splitOf(tokens, reasoning.text, from) : null;
  const own = split?.after ?? tokens;
  const whole = wholeOf(own, ended ? part : null);
  const thought = tokens.slice(0, tokens.length - own.length);
  const before = reasoning ? apartFrom(thought, ofPart(reasoning)) : [];
  return { pieces: [...before, ...apartFrom(own.slice(0, whole), last)], last, rest: own.slice(whole) };
}

/** Tokens as a piece of their own, which has no text of the answer. */
export function apartFrom(tokens: readonly UpstreamToken[], of: PartOf): UpstreamPiece[] {
  if (tokens.length === 0) return [];
  const own = tokens.map((token) => ({ ...token, ...of, ...(!of.part && { text: '' }) }));
  return [{ text: '', tokens: own, ids: null, spelt: textOf(tokens) }];
}

function ofPart({ kind, call }: ScoredPart): PartOf {
  return { part: kind, ...(call !== undefined && { call }) };
}

/** Ids are of all that is written; log-probabilities alone may be of some of it. */
const tells = (tokens: readonly UpstreamToken[], { text }: ScoredPart): boolean =>
  tokens.every(({ id }) => id !== null) || find(tokens, text, 0) >= 0;

/** The character at which a part ends; `from` where it is not told as it was written. */
function endOf(tokens: readonly UpstreamToken[], { text }: ScoredPart, from: number): number {
  const at = find(tokens, text, from);
  return at < 0 ? from : at + text.length;
}

/** How many come before those that begin a character, or that end the answer: a part does not end with one that it does not tell. */
function wholeOf(tokens: readonly UpstreamToken[], ended: ScoredPart | null): number {
  let length = tokens.length;
  while (tokens[length - 1]?.text === '') length -= 1;
  const last = tokens[length - 1];
  return ended && last && !ended.text.endsWith(last.text) ? length - 1 : length;
}

interface Split {
  readonly before: readonly UpstreamToken[];
  /** Tokens with the text that each adds, which may be less than it spells. */
  readonly inside: readonly UpstreamToken[];
  readonly after: readonly UpstreamToken[];
  /** Text that the tokens inside spell. */
  readonly spelt: string;
}

/**
 * Positions of the tokens that wrote a text: whole tokens rather than parts of some, and rather from a
 * character on than before it. A token without text begins the character that follows it.
 */
function splitOf(tokens: readonly UpstreamToken[], text: string, least: number): Split | null {
  const from = startOf(tokens, text, least);
  if (from === null) return null;
  const to = from + text.length;
  const [before, inside, after]: UpstreamToken[][] = [[], [], []];
  let at = 0;
  let spelt = '';
  for (const token of tokens) {
    const end = at + token.text.length;
    if (at >= to) after!.push(token);
    else if (end <= from && at < from) before!.push(token);
    else {
      inside!.push({ ...token, text: token.text.slice(Math.max(0, from - at), to - at) });
      spelt += token.text;
    }
    at = end;
  }
  return { before: before!, inside: inside!, after: after!, spelt };
}

const textOf = (tokens: readonly UpstreamToken[]): string => tokens.map(({ text }) => text).join('');

function startOf(tokens: readonly UpstreamToken[], text: string, least: number): number | null {
  const all = textOf(tokens);
  const bounds = boundsOf(tokens);
  const ends = new Set(bounds);
  const whole = bounds.filter((at) => ends.has(at + text.length) && isAt(all, text, at));
  const best = whole.find((at) => at >= least) ?? whole.at(-1);
  if (best !== undefined) return best;
  const found = find(tokens, text, least);
  if (found >= 0) return found;
  const last = isQuick(all, text) ? all.lastIndexOf(text) : -1;
  return last < 0 ? null : last;
}

/** Start of each token, and the end of the last one. */
function boundsOf(tokens: readonly UpstreamToken[]): number[] {
  let at = 0;
  return [
    0,
    ...tokens.map(({ text }) => {
      at += text.length;
      return at;
    }),
  ];
}

/**
 * First position of the text, from a place on: −1 if there is none. A long one is searched where tokens
 * begin.
 */
function find(tokens: readonly UpstreamToken[], text: string, from: number): number {
  const all = textOf(tokens);
  if (isQuick(all, text)) return all.indexOf(text, from);
  return boundsOf(tokens).find((at) => at >= from && isAt(all, text, at)) ?? -1;
}

/** Characters of both that are compared: texts that repeat themselves have each compared with each. */
const MOST_COMPARED = 1 << 24;

const isQuick = (all: string, text: string): boolean => all.length * text.length <= MOST_COMPARED;

const isAt = (all: string, text: string, at: number): boolean => all.slice(at, at + text.length) === text;
