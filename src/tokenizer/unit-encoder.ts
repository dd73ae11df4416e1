import { LONGEST_LOOK, type StableUnits } from './stable-units.js';

/** A part of a text that is encoded by itself. */
export interface EncodedUnit {
  /** End in the text, in UTF-16 code units. */
  readonly end: number;
  readonly ids: readonly number[];
}

/** What is used of `@huggingface/tokenizers`, whose own types only bundlers resolve. */
interface UnitLibrary {
  readonly pre_tokenizer: { pre_tokenize(text: string): string[] } | null;
  readonly model: {
    encode(spellings: string[]): string[];
    readonly tokens_to_ids: { get(token: string): number | undefined };
    readonly unk_token_id?: number | undefined;
  } | null;
}

interface Unit {
  readonly start: number;
  readonly end: number;
  /** Text in the spelling of the vocabulary. */
  readonly spelling: string;
}

/** Encodes a normalised text, without added tokens, unit by unit. */
export class UnitEncoder {
  readonly rules: StableUnits;
  readonly #library: UnitLibrary;
  readonly #merges: readonly unknown[];
  #joined: ReadonlySet<string> | null = null;

  constructor(library: UnitLibrary, rules: StableUnits, merges: readonly unknown[]) {
    this.#library = library;
    this.rules = rules;
    this.#merges = merges;
  }

  /**
   * The units of a text; of one that goes on those that nothing that follows can change.
   * @param limit so far units may be given out at most, where the text goes on
   */
  encode(text: string, limit: number | null): EncodedUnit[] {
    const units = this.rules.by === 'split' ? this.#split(text) : this.#cut(text);
    // A later mark may compose with the last character that is none, or change how those after it are ordered.
    const last = limit === null ? text.length : Math.min(limit, lastSettled(text));
    const isFinal = ({ start, end, spelling }: Unit): boolean =>
      end <= last && (limit === null || !spelling.startsWith("'") || start + LONGEST_LOOK <= text.length);
    return units.filter(isFinal).map(({ end, spelling }) => ({ end, ids: this.#ids(spelling) }));
  }

  #split(text: string): Unit[] {
    // Each character of a piece stands for a byte, and pieces end where characters do.
    const bytes = Buffer.from(text);
    let [byte, end] = [0, 0];
    const spellings = this.#library.pre_tokenizer?.pre_tokenize(text) ?? [];
    return spellings.map((spelling) => {
      const start = end;
      end += bytes.toString('utf8', byte, byte + spelling.length).length;
      byte += spelling.length;
      return { start, end, spelling };
    });
  }

  #cut(text: string): Unit[] {
    this.#joined ??= joinedPairs(this.#merges);
    const units: Unit[] = [];
    let [start, end, before] = [0, 0, ''];
    for (const character of text) {
      if (end > start && !this.#joined.has(before + character)) {
        units.push({ start, end, spelling: text.slice(start, end) });
        start = end;
      }
      end += character.length;
      before = character;
    }
    if (end > start) units.push({ start, end, spelling: text.slice(start, end) });
    return units;
  }

  #ids(spelling: string): number[] {
    const { model } = this.#library;
    if (!model) return [];
    return model
      .encode([spelling])
      .map((token) => model.tokens_to_ids.get(token) ?? model.unk_token_id ?? -1);
  }
}

/** The last character that is neither white nor a mark; 0 where there is none. */
function lastSettled(text: string): number {
  return Math.max(0, text.search(/[^\p{White_Space}\p{M}][\p{White_Space}\p{M}]*$/u));
}

/** Pairs of characters that some merge joins: two others are never in one token. */
function joinedPairs(merges: readonly unknown[]): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (const merge of merges) {
    const [left, right] = typeof merge === 'string' ? merge.split(' ', 2) : Array.isArray(merge) ? merge : [];
    if (typeof left !== 'string' || typeof right !== 'string') continue;
    const last = Array.from(left).at(-1) ?? '';
    pairs.add(last + (Array.from(right)[0] ?? ''));
  }
  return pairs;
}
