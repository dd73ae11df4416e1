import { join } from 'node:path';
import { Tokenizer as Library } from '@huggingface/tokenizers';
import { ModelError } from 'flinch';
import { checkTextSteps, isRecord, readJson, readOptionalJson, reasonOf } from 'flinch/internals';
import type { EncoderInput } from './encoder-messages.js';

export interface EncodedInput {
  readonly ids: readonly number[];
  /** 0 for the first text, 1 for the second where the model tells them apart. */
  readonly types: readonly number[];
}

/** Tokens of both texts, special ones around them. */
interface Wrapped {
  readonly tokens: readonly string[];
  readonly token_type_ids?: readonly number[];
}

/**
 * Texts and pairs of texts → token ids with their special tokens: WordPiece, BPE and Unigram models, as BERT, RoBERTa and
 * DeBERTa have them. `@huggingface/tokenizers` does all but cutting what is too long.
 */
export class PairTokenizer {
  /** Fills rows up. */
  readonly padId: number;
  readonly #library: Library;
  readonly #process: NonNullable<Library['post_processor']>;
  readonly #maxTokens: number;
  readonly #file: string;

  /**
   * @param file path of tokenizer.json, for messages
   * @throws ModelError that names file and field
   */
  constructor(json: unknown, config: unknown, file: string, maxTokens: number) {
    const { normalizer, pre_tokenizer: preTokenizer } = isRecord(json) ? json : {};
    checkTextSteps(normalizer, file, ['normalizer']);
    checkTextSteps(preTokenizer, file, ['pre_tokenizer']);
    this.#file = file;
    this.#maxTokens = maxTokens;
    this.#library = this.#guard(
      () => new Library(isRecord(json) ? json : {}, isRecord(config) ? config : {}),
    );
    const { post_processor: process } = this.#library;
    if (!process)
      throw new ModelError(file, 'post_processor', 'is missing; it is needed to add the special tokens');
    this.#process = process;
    const { pad_token: pad } = isRecord(config) ? config : {};
    const padding = isRecord(pad) ? pad.content : pad;
    this.padId = this.#library.token_to_id(typeof padding === 'string' ? padding : '[PAD]') ?? 0;
  }

  /**
   * Encodes one text or a pair. An input that is too long is truncated at its end, of a pair the longer text
   * first (`longest_first`).
   * @throws ModelError where the tokenizer's rules fail on a text
   */
  encode([first, second]: EncoderInput): EncodedInput {
    return this.#guard(() => {
      const texts = [this.#tokens(first), second === undefined ? null : this.#tokens(second)] as const;
      const special = this.#wrap([], texts[1] && []).tokens.length;
      const [a, b] = cut(...texts, Math.max(0, this.#maxTokens - special));
      const { tokens, token_type_ids: types } = this.#wrap(a, b);
      return { ids: tokens.map((token) => this.#id(token)), types: types ?? tokens.map(() => 0) };
    });
  }

  #tokens(text: string): string[] {
    return this.#library.encode(text, { add_special_tokens: false }).tokens;
  }

  #wrap(first: string[], second: string[] | null): Wrapped {
    return this.#process.post_process(first, second, true);
  }

  #id(token: string): number {
    const id = this.#library.token_to_id(token) ?? this.#library.model?.unk_token_id;
    if (id === undefined) throw new Error(`there is no id for ${JSON.stringify(token)}`);
    return id;
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw new ModelError(this.#file, '', `the tokenizer library rejects it (${reasonOf(cause)})`, {
        cause,
      });
    }
  }
}

/** @throws ModelError for files that are missing, broken or not supported */
export async function openPairTokenizer(folder: string, maxTokens: number): Promise<PairTokenizer> {
  const json = await readJson(folder, 'tokenizer.json');
  const config = await readOptionalJson(folder, 'tokenizer_config.json');
  return new PairTokenizer(json, config, join(folder, 'tokenizer.json'), maxTokens);
}

function cut(a: string[], b: string[] | null, most: number): [string[], string[] | null] {
  if (!b) return [a.slice(0, most), null];
  const half = Math.floor(most / 2);
  const ofFirst = Math.min(a.length, Math.max(most - b.length, most - half));
  return [a.slice(0, ofFirst), b.slice(0, most - ofFirst)];
}
