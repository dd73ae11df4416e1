import { compose, composedParts } from './compose.js';
import type { Tokenizer } from './tokenizer.js';
import type { AddedToken } from './tokenizer-config.js';

/** A token of a text of which only the characters were known: encoding the text gave the id. */
export interface RetokenizedToken {
  readonly id: number;
  /** The texts of all tokens, joined, are the text as it was written. */
  readonly text: string;
}

/** Above this many waiting characters, a text is only looked at again when it has grown by an eighth. */
const PATIENT_FROM = 1024;

/**
 * Token ids of a text as it is written, of which only the text is known. A token is given out once nothing that follows
 * can change it, which for most tokenizers is when the next word has begun; together they are the ids of the whole text.
 * No more than what waits is looked at again.
 *
 * Names of special tokens are text like any other: a model that wrote the token itself would have shown nothing. Where
 * the tokenizer changes characters before it encodes them, the last token of the word carries the text as it was.
 * Characters that have no token go with the token after them; at the end of the text they are left out.
 *
 * @example
 * const written = new Retokenizer(tokenizer);
 * for (const text of texts) console.log(written.push(text));
 * console.log(written.end());
 */
export class Retokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #added: readonly AddedToken[];
  #waiting = '';
  /** Start of `#waiting`: the text's start, after an added token, or within a text. */
  #at: 'start' | 'section' | 'inside';
  #lookAgain = 0;

  /** @param continues whether the text goes on after tokens that are known already */
  constructor(tokenizer: Tokenizer, continues = false) {
    this.#tokenizer = tokenizer;
    this.#added = tokenizer.visibleAdded;
    this.#at = continues ? 'inside' : 'start';
  }

  /** @param text what follows; never ends within a character */
  push(text: string): RetokenizedToken[] {
    this.#waiting += text;
    if (this.#waiting.length < this.#lookAgain) return [];
    const tokens = this.#take(false);
    const { length } = this.#waiting;
    this.#lookAgain = length < PATIENT_FROM ? 0 : length + (length >> 3);
    return tokens;
  }

  /** The text that is not given out. */
  get waiting(): string {
    return this.#waiting;
  }

  /** The text has ended: what is left of it. */
  end(): RetokenizedToken[] {
    return this.#take(true);
  }

  #take(ended: boolean): RetokenizedToken[] {
    const { units } = this.#tokenizer;
    if (!units) return ended ? this.#all() : [];
    const tokens: RetokenizedToken[] = [];
    for (;;) {
      const found = findAdded(this.#waiting, this.#added, ended);
      if (!found?.token) {
        const open = ended ? null : (found?.at ?? this.#waiting.length);
        for (const token of this.#section(this.#waiting, open)) tokens.push(token);
        return tokens;
      }
      const { at, token } = found;
      const rest = this.#waiting.slice(at + token.content.length);
      for (const before of this.#section(this.#waiting.slice(0, at), null)) tokens.push(before);
      tokens.push({ id: token.id, text: token.content });
      this.#waiting = rest;
      this.#at = 'section';
    }
  }

  /**
   * Tokens of a text without added tokens.
   * @param open from where on it may be that it goes on with one; `null` for a text that has ended
   */
  #section(text: string, open: number | null): RetokenizedToken[] {
    const { units } = this.#tokenizer;
    if (!units || text === '') return [];
    const { composes, metaspace } = units.rules;
    const composed = (part: string): string => (composes ? compose(part) : part);
    const prefix = this.#prefix(text);
    const own = composed(text);
    const whole = prefix + (metaspace ? own.replaceAll(' ', '▁') : own);
    // White space before an added token is grouped otherwise than before other text.
    const limit = open === null ? null : prefix.length + composed(text.slice(0, open).trimEnd()).length;
    const ends = own === text ? null : endsOf(text);
    const tokens: RetokenizedToken[] = [];
    let from = 0;
    let ids: number[] = [];
    for (const unit of units.encode(whole, limit)) {
      for (const id of unit.ids) ids.push(id);
      const end = unit.end - prefix.length;
      const to = ends ? ends.get(end) : end;
      if (to === undefined) continue; // composed across the end of the unit
      if (ids.length === 0) continue; // bytes without a token: the next token has their text
      const spelt = this.#spell(ids, text.slice(from, to), tokens.length === 0 && prefix !== '');
      for (const token of spelt) tokens.push(token);
      [from, ids] = [to, []];
    }
    this.#waiting = text.slice(from);
    if (tokens.length > 0) this.#at = 'inside';
    return tokens;
  }

  /** The space that stands before a text, in the tokenizer's eyes alone. */
  #prefix(text: string): '' | '▁' {
    const scheme = this.#tokenizer.units?.rules.prefix ?? 'none';
    if (scheme === 'none' || this.#at === 'inside') return '';
    if (this.#at === 'section') return scheme === 'sections' ? '▁' : '';
    // Servers differ in whether they show it at the start of a response: there it is not put twice.
    return /^[ ▁]/.test(text) ? '' : '▁';
  }

  #spell(ids: readonly number[], text: string, prefixed: boolean): RetokenizedToken[] {
    const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
    const last = ids.length - 1;
    const texts = ids.map((id, i) => {
      const piece = utf8.decode(this.#tokenizer.tokenBytes(id), { stream: i < last });
      return i === 0 && prefixed && piece.startsWith(' ') ? piece.slice(1) : piece;
    });
    const same = texts.join('') === text;
    return ids.map((id, i) => ({ id, text: same ? texts[i]! : i === last ? text : '' }));
  }

  /** Encodes the whole text, for a tokenizer without {@link StableUnits}. */
  #all(): RetokenizedToken[] {
    const text = this.#waiting;
    this.#waiting = '';
    if (text === '') return [];
    return this.#spell(this.#tokenizer.encodePlain(text), text, this.#tokenizer.leadingSpaces > 0);
  }
}

/**
 * Maps lengths of a composed text to lengths of the original. Lengths that end among characters that were
 * composed together are absent.
 */
function endsOf(text: string): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  let [from, to] = [0, 0];
  for (const part of composedParts(text)) {
    const composed = compose(part);
    if (composed === part) for (let i = 1; i < part.length; i++) ends.set(to + i, from + i);
    from += part.length;
    to += composed.length;
    ends.set(to, from);
  }
  return ends;
}

/**
 * The first added token in a text, the longest of those that begin there.
 * @returns without `token` where it is not there yet, but may be
 */
function findAdded(
  text: string,
  added: readonly AddedToken[],
  ended: boolean,
): { readonly at: number; readonly token?: AddedToken } | null {
  if (added.length === 0) return null;
  for (let at = 0; at < text.length; at++) {
    let found: AddedToken | null = null;
    for (const token of added) {
      const { content } = token;
      if (text.startsWith(content, at)) {
        if (content.length > (found?.content.length ?? 0)) found = token;
      } else if (!ended && content.startsWith(text.slice(at))) {
        return { at };
      }
    }
    if (found) return { at, token: found };
  }
  return null;
}
