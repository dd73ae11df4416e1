import { Detokenizer } from '../../../src/tokenizer/detokenizer.js';
import type { Tokenizer } from '../../../src/tokenizer/tokenizer.js';
import { ApiError } from '../../errors/api-error.js';
import type { KnownToken } from '../upstream.js';

/**
 * Finds the text of each token where a server gives ids beside its text, and not which of them wrote what. Ids may be
 * ahead of the text: servers hold text back that may begin a stop string, or ends within a character.
 */
export class IdAlignment {
  readonly #tokenizer: Tokenizer;
  readonly #detokenizer: Detokenizer;
  readonly #waiting: { readonly id: number; readonly text: string }[] = [];
  /** The first of them that has text: those before it hold parts of its first character. */
  #first = 0;
  #text = '';
  /** Servers differ in whether they show the space that a tokenizer puts before a text. */
  #mayShowSpace: boolean;

  /** @param continues whether the text goes on after tokens that are known already */
  constructor(tokenizer: Tokenizer, continues: boolean) {
    this.#tokenizer = tokenizer;
    this.#detokenizer = new Detokenizer(tokenizer);
    this.#mayShowSpace = !continues && tokenizer.leadingSpaces > 0;
    // Tokenizers drop spaces from the start of a text only, not from a later part of it.
    if (continues) this.#detokenizer.begin();
  }

  get pending(): boolean {
    return this.#waiting.length > 0;
  }

  /** @throws VocabularyMismatch where the ids do not spell the text */
  push(text: string, ids: readonly number[]): KnownToken[] {
    for (const id of ids)
      this.#waiting.push({ id: known(this.#tokenizer, id), text: this.#detokenizer.push(id) });
    this.#text += text;
    const tokens: KnownToken[] = [];
    for (;;) {
      // Tokens that hold only a part of a character come with the one that completes it.
      const at = this.#firstWithText();
      const next = this.#waiting[at];
      if (!next || this.#text === '') return tokens;
      if (this.#mayShowSpace && this.#text.startsWith(' ') && !next.text.startsWith(' ')) {
        this.#waiting[at] = { ...next, text: ` ${next.text}` };
        this.#mayShowSpace = false;
        continue;
      }
      this.#mayShowSpace = false;
      if (!this.#text.startsWith(next.text)) {
        if (next.text.startsWith(this.#text)) return tokens;
        throw new VocabularyMismatch('its tokens do not form the text');
      }
      this.#first = 0;
      for (const { id, text: own } of this.#waiting.splice(0, at + 1)) {
        tokens.push({ id, text: own, logprob: null, topLogprobs: [] });
      }
      this.#text = this.#text.slice(next.text.length);
    }
  }

  /**
   * No more text comes. Tokens without text ended it, or were cut off with a stop string.
   * @throws VocabularyMismatch where text is left that no token spells
   */
  end(): KnownToken[] {
    const rest = this.#text;
    if (rest === '') return [];
    this.#waiting.push({ id: -1, text: this.#detokenizer.flush() });
    const at = this.#firstWithText();
    const last = this.#waiting[at];
    if (!last?.text.startsWith(rest)) throw new VocabularyMismatch('its text is longer than its tokens');
    const tokens = this.#waiting.slice(0, at + 1).filter(({ id }) => id >= 0);
    return tokens.map(({ id }, i) => ({
      id,
      text: i === tokens.length - 1 ? rest : '',
      logprob: null,
      topLogprobs: [],
    }));
  }

  /** All that came before are passed over once, however many wait. */
  #firstWithText(): number {
    while (this.#waiting[this.#first]?.text === '') this.#first += 1;
    return this.#first;
  }
}

/** The server's tokens are not the scorer's: they have other vocabularies, so nothing it says can be scored. */
export class VocabularyMismatch extends ApiError {
  constructor(problem: string) {
    super('scorer_mismatch', `the scorer's vocabulary differs from the upstream's: ${problem}`);
    this.name = 'VocabularyMismatch';
  }
}

/** @throws VocabularyMismatch */
export function known(tokenizer: Tokenizer, id: number): number {
  if (id < tokenizer.size) return id;
  throw new VocabularyMismatch(`token ${id} is outside its vocabulary of ${tokenizer.size}`);
}
