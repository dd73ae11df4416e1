import { join } from 'node:path';
import type { Tokenizer as Library } from '@huggingface/tokenizers';
import { ModelError, reasonOf } from '../files/file-errors.js';
import { isRecord, readJson } from '../files/json.js';
import { type ByteDecoder, parseDecoder } from './byte-decoder.js';
import { faithfulLibrary } from './faithful-library.js';
import { stableUnits } from './stable-units.js';
import { checkTextSteps, splitsAtNothing } from './supported-pipeline.js';
import { textPrefix } from './text-prefix.js';
import { type AddedToken, readTokenizerConfig } from './tokenizer-config.js';
import { testTextSteps } from './tokenizer-self-test.js';
import { UnitEncoder } from './unit-encoder.js';
import { parseVocabulary } from './vocabulary.js';

const NONE = new Uint8Array(0);

/**
 * Text ↔ token ids. Encoding is the work of `@huggingface/tokenizers`. Decoding is done here, token by token in
 * bytes, so that a stream of tokens gives the very text that decoding them together gives. It never cleans up
 * spaces before punctuation (`clean_up_tokenization_spaces`), which would change text that was already sent.
 */
export class Tokenizer {
  /** One more than the highest id; the model's vocabulary may be larger, its last rows are padding. */
  readonly size: number;
  /** Characters of the longest token: no token stands for more. */
  readonly longestToken: number;
  /** Spaces that decoding drops from the start of a text. */
  readonly leadingSpaces: number;
  /** Tokens that text is searched for. */
  readonly added: readonly AddedToken[];
  /** Those that show in a text, as tags of tool calls do. */
  readonly visibleAdded: readonly AddedToken[];
  /** Ids before a text that no chat template surrounds; `null` if they are unknown. */
  readonly prefix: readonly number[] | null;
  /** Encodes a text that is being written part by part; `null` where it is not known how. */
  readonly units: UnitEncoder | null;
  readonly #file: string;
  readonly #library: Library;
  /** Takes the text of special tokens for what it says; made when a text first holds one. */
  readonly #plain: () => Library;
  readonly #decoder: ByteDecoder;
  /** Spellings by id. No array: a file may name one id of millions, and walking the holes would take a second. */
  readonly #tokens = new Map<number, string>();
  readonly #ids: Map<string, number>;
  readonly #added: ReadonlyMap<number, AddedToken>;
  /** Matches names that messages cannot write; a single character cannot be broken up, and is taken as it comes. */
  readonly #specials: RegExp | null;

  /**
   * @param file path of tokenizer.json, for messages
   * @throws ModelError for a file that is broken or not supported
   */
  constructor(tokenizerJson: unknown, tokenizerConfigJson: unknown, file: string) {
    const { ids, added, control } = parseVocabulary(tokenizerJson, tokenizerConfigJson, file);
    this.#file = file;
    this.#ids = new Map(ids);
    for (const [token, id] of ids) this.#tokens.set(id, token);
    for (const { content, id } of added) {
      this.#tokens.set(id, content);
      this.#ids.set(content, id);
    }
    this.#added = new Map(added.map((token) => [token.id, token]));
    let [size, longest] = [0, 1];
    for (const [id, token] of this.#tokens) {
      size = Math.max(size, id + 1);
      longest = Math.max(longest, token.length);
    }
    this.size = size;
    this.longestToken = longest;

    const json = isRecord(tokenizerJson) ? tokenizerJson : {};
    const names = added
      .filter(({ special, content }) => content.length > 1 && (special || control.has(content)))
      .map((token) => token.content);
    const longestFirst = names.toSorted((a, b) => b.length - a.length).map(escapeRegExp);
    this.#specials = names.length > 0 ? new RegExp(longestFirst.join('|'), 'g') : null;

    this.#decoder = parseDecoder(json.decoder, file);
    this.leadingSpaces = this.#decoder.leadingSpaces;
    this.prefix = textPrefix(json.post_processor, tokenizerConfigJson);
    const { normalizer = null } = json;
    const pre_tokenizer = splitsAtNothing(json.pre_tokenizer, normalizer)
      ? null
      : (json.pre_tokenizer ?? null);
    checkTextSteps(normalizer, file, ['normalizer']);
    checkTextSteps(pre_tokenizer, file, ['pre_tokenizer']);
    const model = isRecord(json.model) ? { ...json.model, type: 'BPE' } : {};
    const parts = { normalizer, pre_tokenizer, model };
    this.added = added;
    this.visibleAdded = added.filter(({ special }) => !special);
    const rules = stableUnits(parts, model, this.visibleAdded);
    // The others have been read, and take linear time.
    if (rules === null) this.#guard(() => testTextSteps(parts, file));
    const library = (tokens: typeof added): Library => this.#guard(() => faithfulLibrary(parts, tokens));
    this.#library = library(added);
    let plain: Library | null = null;
    const mere = this.visibleAdded.filter(({ content }) => !control.has(content));
    this.#plain = () => (plain ??= library(mere));
    const merges = 'merges' in model && Array.isArray(model.merges) ? model.merges : [];
    this.units = rules && new UnitEncoder(this.#library, rules, merges);
  }

  /**
   * Token ids of a text. None are added: a beginning-of-text token is the chat template's to write, and like every
   * added token (`<|im_start|>`) becomes its single id where it stands in the text.
   *
   * @throws ModelError where the tokenizer's rules fail on this text
   */
  encode(text: string): number[] {
    return this.#encode(this.#library, text);
  }

  /** Token ids of a text in which the names of special tokens are mere text. */
  encodePlain(text: string): number[] {
    return this.#encode(this.#plain(), text);
  }

  /** Matches of the names of special tokens in a text, in order; a longer name precedes its beginning. */
  specialsIn(text: string): RegExpExecArray[] {
    return this.#specials === null ? [] : [...text.matchAll(this.#specials)];
  }

  #encode(library: Library, text: string): number[] {
    const { ids } = this.#guard(() => library.encode(text, { add_special_tokens: false }));
    if (ids.every(Number.isInteger)) return ids;
    throw new ModelError(this.#file, 'model', 'has no token for a part of the text');
  }

  /** The text of token ids, special tokens left out. Bytes that are not UTF-8 become U+FFFD. */
  decode(ids: readonly number[]): string {
    const bytes = Buffer.concat(ids.map((id) => this.tokenBytes(id)));
    let start = 0;
    while (start < this.leadingSpaces && bytes[start] === 0x20) start++;
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(start));
  }

  /** Bytes that a token adds to the text; none for special tokens and for ids without a token. */
  tokenBytes(id: number): Uint8Array {
    const token = this.#tokens.get(id);
    if (token === undefined || this.isSpecial(id)) return NONE;
    return this.#added.has(id) ? this.#decoder.addedBytes(token) : this.#decoder.bytes(token);
  }

  /** A token for display: its text, where it holds parts of characters its bytes as `<0xE2><0x82>`. */
  tokenText(id: number): string {
    const token = this.#tokens.get(id);
    if (token === undefined) return `<id ${id}>`;
    if (this.#added.has(id)) return token;
    const bytes = this.#decoder.bytes(token);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return Array.from(bytes, (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`).join('');
    }
  }

  isSpecial(id: number): boolean {
    return this.#added.get(id)?.special ?? false;
  }

  /** The id of a token by its spelling in the vocabulary, `<|im_end|>` or `Ġthe`. */
  idOf(content: string): number | undefined {
    return this.#ids.get(content);
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof ModelError) throw cause;
      throw new ModelError(this.#file, '', `the tokenizer library rejects it (${reasonOf(cause)})`, {
        cause,
      });
    }
  }
}

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/**
 * Reads tokenizer.json and tokenizer_config.json of a checkpoint.
 *
 * @throws ModelError for files that are missing, broken or not supported, and for ids that the model has no row for
 */
export async function openTokenizer(dir: string, config: { readonly vocabSize: number }): Promise<Tokenizer> {
  const file = join(dir, 'tokenizer.json');
  const json = await readJson(dir, 'tokenizer.json');
  return makeTokenizer(json, await readTokenizerConfig(dir), { file, ...config });
}

/** @throws ModelError as {@link openTokenizer} does, with the name of the file */
export function makeTokenizer(
  json: unknown,
  configJson: unknown,
  { file, vocabSize }: { readonly file: string; readonly vocabSize: number },
): Tokenizer {
  const tokenizer = new Tokenizer(json, configJson, file);
  if (tokenizer.size > vocabSize) {
    const last = tokenizer.size - 1;
    const problem = `${tokenizer.tokenText(last)} has id ${last}, but the model's vocabulary ends before ${vocabSize}`;
    throw new ModelError(file, 'model.vocab', problem);
  }
  return tokenizer;
}
