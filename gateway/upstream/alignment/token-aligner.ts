import type { PartOf } from '../../../src/steps/text-part.js';
import type { UpstreamPiece, UpstreamToken } from '../upstream.js';
import type { WrittenPart } from '../wire/beside-text.js';
import type { Chunk } from '../wire/chunks.js';
import { apartFrom, isPart, placedParts } from './placed-parts.js';

type AlignedChunk = Pick<Chunk, 'text' | 'tokens' | 'ids' | 'parts' | 'written' | 'finishReason'>;

/** Tokens that wait to be told what they are of. A tool call is told after all of its tokens. */
const MOST_ASIDE = 16_384;
/** Limit of tokens whose text has not come. */
const MOST_QUEUED = 4096;
/** Tokens that wait where text has come since: with each text, all of them are looked at again. */
const MOST_LEFT = 256;

/**
 * Finds out which of the tokens that a server describes have written its text, chunk by chunk. Texts decide: a token
 * counts only where its text is what stands there, so that no log-probability is ever given to another token.
 *
 * What it allows for:
 * - Tokens before their text. vLLM holds back as many characters as a stop string has; both hold back the first
 *   tokens of a character, whose bytes may make no text by themselves: such a token has the text '', the last one the
 *   character.
 * - Tokens without text: those that end the answer, or are special. Between texts they have the text ''.
 * - Tokens of which nothing is told. llama.cpp describes of those that it holds back (for a stop string, a character of
 *   several tokens) the last alone, with the text of all; what it has written so far tells how many they are.
 * - Reasoning and tool calls that a server keeps apart, with the tokens that begin and end them, which may be told in
 *   chunks without text. Such a mark belongs to the part that follows it, and before the text to the part that it ends.
 *   Which token of such a part is which need not be known: all are of it.
 *
 * What does not fit, and text of which no tokens are described, passes without tokens. Where tokens were written that
 * are not told, the piece is `hidden`.
 *
 * @example
 * const aligner = new TokenAligner({ lags: false });
 * aligner.push(chunk); // pieces
 * aligner.end();
 */
export class TokenAligner {
  /** Whether text may come in later chunks than its tokens: then what once does not fit is not trusted again. */
  readonly #lags: boolean;
  #queue: UpstreamToken[] = [];
  #text = '';
  #lost = false;
  readonly #texts = new TokenTexts();
  /** Tokens of chunks that say nothing: what follows tells what they are. */
  #aside: UpstreamToken[] = [];
  #of: PartOf = {};
  /** Whether a token ended the answer, so that the last one is probably that. */
  #ended = false;
  /** Whether tokens were passed over whose text has not come: it may come without them. */
  #gap = false;
  /** Tokens that the server has written so far, where it says so. */
  #written = 0;

  constructor({ lags }: { readonly lags: boolean }) {
    this.#lags = lags;
  }

  push({ text, tokens, ids, parts, written, finishReason }: AlignedChunk): UpstreamPiece[] {
    const more = tokens !== null && (written ?? 0) - this.#written > tokens.length;
    this.#written = written ?? this.#written;
    this.#ended ||= finishReason !== null && finishReason !== 'length';
    const gap = more || this.#gap;
    this.#gap = gap && text === '' && parts.length === 0;
    const hasTokens = tokens ? !gap : ids?.length === 0;
    if (parts.length > 0 && (!hasTokens || this.#lags || !parts.every(isPart))) return this.#passOver(text);
    const apart = parts.length > 0 || this.#aside.length > 0;
    if (apart) return gap ? this.#passOver(text) : this.#place(text, tokens ?? [], parts);
    // Tokens between may also be of no text, such as the mark that ends a reasoning.
    if (more && !tokens.every(isNamed)) return this.#undescribed(text);
    // Ids alone stay with the text they came with: the owner of the vocabulary aligns them.
    if (this.#lost || (!tokens && this.#queue.length === 0)) return textWithoutTokens(text, ids);
    const own = (tokens ?? []).map((token) => this.#texts.next(token));
    // If text does not lag, a whole token without it never gets it, such as one that the server swallows: it
    // may look like the next one.
    if (text === '' && !this.#lags && own.some((token) => isWhole(token.text))) {
      if (gap) return this.#passOver(text);
      this.#aside = [...this.#queue.splice(0), ...own];
      return [];
    }
    const whole = this.#lags ? null : this.#whole(text, own);
    const pieces = whole ?? this.#take(text, own);
    if (text !== '') this.#of = {};
    return gap && pieces[0]?.tokens ? hidden(pieces) : pieces;
  }

  /** No more comes. What is left of the tokens of the text was cut off, or ended the answer. */
  end(): UpstreamPiece[] {
    const waits = this.#lags || this.#text !== '';
    const left = [...this.#aside, ...(waits ? [] : this.#queue)].filter(({ text }) => text !== '');
    const marks = this.#ended ? left.slice(0, -1) : left;
    return [...apartFrom(marks, this.#of), ...this.#rest()];
  }

  /** Text that still waits for tokens gets none. */
  #rest(): UpstreamPiece[] {
    const text = this.#text;
    this.#queue = [];
    this.#text = '';
    return textWithoutTokens(text, null);
  }

  /** Text of several tokens of which only the last is told. */
  #undescribed(text: string): UpstreamPiece[] {
    this.#gap = text === '';
    const before = this.#rest();
    this.#clear();
    return [...before, ...textWithoutTokens(text, null)];
  }

  /** Tokens cannot be told from those of the text, or are not told: where text lags, not from later ones either. */
  #passOver(text: string): UpstreamPiece[] {
    const before = this.#rest();
    this.#clear();
    this.#aside = [];
    this.#gap = false;
    this.#lost = this.#lags;
    return [...before, { text, tokens: null, ids: null, hidden: true }];
  }

  /** All tokens are told, and some are not of the text. */
  #place(text: string, more: readonly UpstreamToken[], parts: readonly WrittenPart[]): UpstreamPiece[] {
    const earlier = this.#aside.length + this.#queue.length;
    for (const token of this.#queue.splice(0)) this.#aside.push(token);
    for (const token of more) this.#aside.push(this.#texts.next(token));
    if (this.#aside.length > MOST_ASIDE) return this.#passOver(text);
    if (text === '' && parts.length === 0) return [];
    const placed = placedParts(this.#aside, { text, parts, earlier, last: this.#of, ended: this.#ended });
    if (!placed || placed.rest.length > MOST_LEFT || this.#text !== '') return this.#passOver(text);
    this.#aside = [...placed.rest];
    this.#of = placed.last;
    return [...placed.pieces];
  }

  /** The text of whole tokens of this chunk, and others without text before and after them. */
  #whole(text: string, own: readonly UpstreamToken[]): UpstreamPiece[] | null {
    if (text === '' || this.#text !== '') return null;
    const earlier = this.#queue.length;
    if (earlier > MOST_LEFT) return null;
    // Fast path: most chunks are like this.
    if (earlier === 0 && own.length === 1 && own[0]?.text === text) return [{ text, tokens: own, ids: null }];
    const said = { text, parts: [], earlier, last: this.#of, ended: this.#ended };
    const placed = placedParts([...this.#queue, ...own], said);
    if (!placed || placed.pieces.at(-1)?.spelt !== undefined) return null;
    const startsText = placed.rest.every((token) => token.text === '');
    this.#queue = startsText ? [...placed.rest] : [];
    this.#aside = startsText ? [] : [...placed.rest];
    return [...placed.pieces];
  }

  #take(text: string, own: readonly UpstreamToken[]): UpstreamPiece[] {
    for (const token of own) this.#queue.push(token);
    this.#text += text;
    const pieces = this.#taken();
    return this.#stuck() || this.#queue.length > MOST_QUEUED ? [...pieces, ...this.#giveUp()] : pieces;
  }

  #taken(): UpstreamPiece[] {
    const taken: UpstreamToken[] = [];
    let at = 0;
    for (const { text } of this.#queue) {
      // A token without text at the end may end the answer, or begin the next character.
      if (text === '' ? at === this.#text.length && this.#text !== '' : !this.#text.startsWith(text, at))
        break;
      if (at >= this.#text.length) break;
      at += text.length;
      taken.push(this.#queue[taken.length]!);
    }
    while (taken.at(-1)?.text === '') taken.pop();
    const text = this.#text.slice(0, at);
    this.#queue.splice(0, taken.length);
    this.#text = this.#text.slice(at);
    const pieces: UpstreamPiece[] = taken.length > 0 ? [{ text, tokens: taken, ids: null }] : [];
    // Tokens come with their text or before it: that of which none are left is described by none.
    if (this.#queue.length === 0) return [...pieces, ...this.#rest()];
    return pieces;
  }

  /** Whether what is there cannot become right by what comes. */
  #stuck(): boolean {
    if (this.#text === '') return false;
    const next = this.#queue.find(({ text }) => text !== '');
    return next?.text.slice(0, this.#text.length) !== this.#text;
  }

  #giveUp(): UpstreamPiece[] {
    const text = this.#text;
    const ids = this.#queue.flatMap(({ id }) => id ?? []);
    const all = ids.length === this.#queue.length;
    this.#lost = this.#lags;
    this.#clear();
    return textWithoutTokens(text, all ? ids : null);
  }

  #clear(): void {
    this.#rest();
    this.#texts.reset();
  }
}

/** Whether the server tells the text of the token a second time, among the most probable ones. */
const isNamed = ({ id, text, topLogprobs }: UpstreamToken): boolean =>
  topLogprobs.some((other) => other.id !== null && other.id === id && other.text === text);

/** No part of a character. */
const isWhole = (text: string): boolean => text !== '' && !text.includes('\uFFFD');

/** Tokens were written before it that are not told. */
const hidden = ([first, ...others]: readonly UpstreamPiece[]): UpstreamPiece[] =>
  first ? [{ ...first, hidden: true }, ...others] : [];

const textWithoutTokens = (text: string, ids: readonly number[] | null): UpstreamPiece[] =>
  text === '' && !ids?.length ? [] : [{ text, tokens: null, ids }];

/**
 * The texts of tokens whose bytes are known: of a character of several tokens the last one has it, the others
 * ''.
 */
class TokenTexts {
  #decoder = new TextDecoder();
  /** Bytes of a character that has begun. */
  #partial = 0;

  /** The token with the text that it adds to those before it. */
  next(token: UpstreamToken): UpstreamToken {
    const { text, name, bytes } = token;
    // Some servers tell the bytes of the name.
    if (!bytes || name !== undefined) return token;
    const whole = !text.includes('\uFFFD') && Buffer.byteLength(text) === bytes.length;
    if (whole && this.#partial === 0) return token;
    const decoded = this.#decoder.decode(Uint8Array.from(bytes), { stream: true });
    this.#partial += bytes.length - Buffer.byteLength(decoded);
    return { ...token, text: decoded };
  }

  /** Forgets a character that has begun: the next token does not continue it. */
  reset(): void {
    if (this.#partial !== 0) this.#decoder = new TextDecoder();
    this.#partial = 0;
  }
}
