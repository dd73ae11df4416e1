import { type RetokenizedToken, Retokenizer } from '../../../src/tokenizer/retokenizer.js';
import type { Tokenizer } from '../../../src/tokenizer/tokenizer.js';
import type { KnownToken, UpstreamPiece, UpstreamToken } from '../upstream.js';
import { IdAlignment, known, VocabularyMismatch } from './id-alignment.js';

/** Characters of a word that is tokenised as it is written: each time all of it. */
const MAX_WORD = 8192;

/** A token as the server describes it, and its position among the characters that wait. */
interface LocatedToken {
  readonly from: number;
  readonly to: number;
  readonly token: UpstreamToken;
}

/**
 * The tokens of an answer in the scorer's vocabulary: by the server's ids as far as it gives them, else by its text,
 * tokenised anew and held until no later text changes the token. Their texts, joined, are the server's text.
 *
 * Where only the text is known, a log-probability is taken over for those tokens that the server has too.
 */
export class Alignment {
  readonly #tokenizer: Tokenizer;
  #started: boolean;
  #ids: IdAlignment | null = null;
  #written: Retokenizer | null = null;
  #located: LocatedToken[] = [];
  /** Characters that were put into `#written`, and those that came out. */
  #in = 0;
  #out = 0;
  /** Whether the last token has less text than it spells: nothing can follow. */
  #cut = false;
  /** Whether the model has read unknown tokens: then the context of its further tokens is unknown. */
  #hidden = false;

  /** @param continues whether the text goes on after tokens that are known already */
  constructor(tokenizer: Tokenizer, continues: boolean) {
    this.#tokenizer = tokenizer;
    this.#started = continues;
  }

  /**
   * @returns without ids what follows tokens that are not told: it cannot be scored
   * @throws VocabularyMismatch
   */
  push({ text, tokens, ids, hidden, spelt }: UpstreamPiece): readonly UpstreamToken[] {
    const described = tokens?.every(hasId) ? tokens : null;
    if (hidden || this.#hidden || (spelt !== undefined && !(described && this.#spell(described, spelt)))) {
      const before = this.#hidden ? [] : this.#settle();
      this.#hidden = true;
      return [...before, ...unknown(text, tokens)];
    }
    if (this.#cut && text !== '') throw new VocabularyMismatch(OTHER_TEXT);
    if (described && spelt !== undefined) return [...this.#settle(), ...described];
    if (described) return [...this.#settle(), ...this.#described(text, described)];
    if (ids?.length || this.#ids?.pending) {
      const before = this.#written ? this.#settle() : [];
      this.#ids ??= new IdAlignment(this.#tokenizer, this.#started);
      this.#started ||= text !== '';
      return [...before, ...this.#ids.push(text, ids ?? [])];
    }
    return text === '' ? [] : (this.#overlong(text) ?? this.#retokenise(text, tokens));
  }

  /**
   * The text has ended: what was held.
   * @throws VocabularyMismatch
   */
  end(): KnownToken[] {
    return this.#settle();
  }

  #settle(): KnownToken[] {
    const tokens = [...(this.#ids?.end() ?? []), ...this.#withLogprobs(this.#written?.end() ?? [])];
    this.#ids = this.#written = null;
    this.#located = [];
    this.#in = this.#out = 0;
    return tokens;
  }

  /** Tokens with ids, whose texts together are the text. */
  #described(text: string, tokens: readonly KnownToken[]): readonly KnownToken[] {
    if (this.#spell(tokens, text)) return tokens;
    const spelt = this.#spelling(tokens);
    const own = Buffer.from(text);
    // A stop string has cut the last one off.
    if (text !== '' && spelt.subarray(0, own.length).equals(own)) {
      this.#cut = true;
      return tokens;
    }
    // llama.cpp describes of tokens that it holds back the last alone, with the text of all.
    if (spelt.length === 0 || !own.subarray(-spelt.length).equals(spelt))
      throw new VocabularyMismatch(OTHER_TEXT);
    return [...this.#retokenise(text, null), ...this.#settle()];
  }

  /** Whether tokens with ids are this text: nothing less, and nothing more. */
  #spell(tokens: readonly KnownToken[], text: string): boolean {
    const spelt = this.#spelling(tokens);
    const { leadingSpaces } = this.#tokenizer;
    // Servers differ in whether they show the space that a tokenizer puts before a text.
    const bare = this.#started ? 0 : Math.min(leadingSpaces, spelt.toString().search(/[^ ]|$/));
    const own = Buffer.from(text);
    if (!spelt.equals(own) && !spelt.subarray(bare).equals(own)) return false;
    this.#started ||= text !== '';
    return true;
  }

  #spelling(tokens: readonly KnownToken[]): Buffer {
    const tokenizer = this.#tokenizer;
    return Buffer.concat(tokens.map(({ id, text }) => spelling(tokenizer, known(tokenizer, id), text)));
  }

  #retokenise(text: string, tokens: readonly UpstreamToken[] | null): KnownToken[] {
    this.#written ??= new Retokenizer(this.#tokenizer, this.#started);
    this.#started = true;
    let from = this.#in;
    for (const token of tokens ?? []) {
      const to = from + token.text.length;
      if (to > from) this.#located.push({ from, to, token });
      from = to;
    }
    this.#in += text.length;
    return this.#withLogprobs(this.#written.push(text));
  }

  /** A word that would hold up the process, as what is not told: it is passed on, and cannot be scored. */
  #overlong(text: string): readonly UpstreamToken[] | null {
    const waiting = this.#written?.waiting ?? '';
    if (this.#tokenizer.units === null || waiting.length <= MAX_WORD) return null;
    this.#hidden = true;
    this.#written = null;
    return unknown(waiting + text, null);
  }

  #withLogprobs(written: readonly RetokenizedToken[]): KnownToken[] {
    return written.map(({ id, text }) => {
      const from = this.#out;
      this.#out += text.length;
      while (this.#located[0] && this.#located[0].from < from) this.#located.shift();
      const located = this.#located[0];
      const same = text !== '' && located?.from === from && located.to === this.#out;
      const { logprob = null, topLogprobs = [] } = same ? located.token : {};
      return { id, text, logprob, topLogprobs };
    });
  }
}

const OTHER_TEXT = 'its tokens do not form the text';

const unknown = (text: string, tokens: readonly UpstreamToken[] | null): readonly UpstreamToken[] => {
  if (tokens) return tokens.map((token) => ({ ...token, id: null }));
  return text === '' ? [] : [{ id: null, text, logprob: null, topLogprobs: [] }];
};

const hasId = (token: UpstreamToken): token is KnownToken => token.id !== null;

/** Bytes that a token adds to the text; for a special token its name, if the server shows it. */
function spelling(tokenizer: Tokenizer, id: number, text: string): Uint8Array {
  if (tokenizer.isSpecial(id)) return Buffer.from(text === tokenizer.tokenText(id) ? text : '');
  return tokenizer.tokenBytes(id);
}
