import { ModelError, TextLimitError } from '../files/file-errors.js';
import { type EncodingParts, faithfulLibrary } from './faithful-library.js';
import { within } from './time-limit.js';

/** Time for all texts, which take some milliseconds together. */
const LIMIT_MS = 1000;
/** Number of tries, as a machine may pause for a while: a tokenizer is refused only if all of them take too long. */
const ATTEMPTS = 2;

/** Characters that regular expressions treat alike; those that a pattern names are added. */
const CHARACTERS = ['a', 'A', '0', ' ', '\n', '.', '_', 'é', '中', '\u0301'];
const MAX_CHARACTERS = 64;
/** Exponential patterns stand at the shorter, cubic ones at the longer. */
const LENGTHS = [40, 1000];
/** Characters that a normaliser may make of one. */
const MAX_GROWTH = 300;

/**
 * Refuses a tokenizer whose regular expressions explode or whose replacements grow, by texts that provoke it: runs of
 * one character, and of those that its patterns name, with an end that fits nothing.
 *
 * @throws ModelError naming the field
 */
export function testTextSteps({ normalizer, pre_tokenizer }: EncodingParts, file: string): void {
  const model = { type: 'BPE', vocab: {}, merges: [], unk_token: null };
  const library = faithfulLibrary({ normalizer, pre_tokenizer, model }, []);
  const named = [...new Set(patternsIn([normalizer, pre_tokenizer]))].slice(0, MAX_CHARACTERS);
  const words = named.filter((one) => /[\p{L}\p{N}]/u.test(one)).join('');
  const runs = [...new Set([...CHARACTERS, ...named, words])].filter((run) => run !== '');
  for (const length of LENGTHS) {
    const texts = runs.map((run) => `${run.repeat(Math.ceil(length / run.length)).slice(0, length)}\0`);
    const normalized = tested(file, 'normalizer', () =>
      texts.map((text) => library.normalizer?.normalize(text) ?? text),
    );
    const largest = Math.max(...normalized.map((text) => text.length));
    if (largest > MAX_GROWTH * length) {
      throw new ModelError(file, 'normalizer', `makes ${largest} characters of ${length}`);
    }
    tested(file, 'pre_tokenizer', () => {
      for (const text of normalized) library.pre_tokenizer?.pre_tokenize(text);
    });
  }
}

/** The patterns of all steps, one after the other. */
const patternsIn = (steps: readonly unknown[]): string =>
  [...JSON.stringify(steps).matchAll(/"(?:Regex|String)":"((?:[^"\\]|\\.)*)"/g)]
    .map(([, pattern]) => pattern)
    .join('');

/**
 * Work for which a model's file is to blame.
 * @throws ModelError for work that overruns; what the work throws
 */
export function tested<T>(file: string, field: string, work: () => T): T {
  for (let attempt = 1; ; attempt++) {
    try {
      return within(LIMIT_MS, work);
    } catch (cause) {
      if (!(cause instanceof TextLimitError)) throw cause;
      if (attempt === ATTEMPTS)
        throw new ModelError(file, field, `the self-test failed: ${cause.message}`, { cause });
    }
  }
}
