import { isStopWord } from './stop-words.js';

/**
 * Likeness of texts by the words, numbers and operators in them: the light substitute for a cross-encoder
 * (`token_sar-lexical`) and for sentence embeddings (`graph-lexical`). Function words count for little, so what a text
 * says weighs more than how; of synonyms it knows nothing.
 */

/** LaTeX commands, words, numbers with their decimals, operators and relations. */
const TERM = /\\\p{L}+|\p{L}+(?:['’]\p{L}+)*|\d+(?:[.,]\d+)*|[-−+*×·/÷=<>≤≥≠^]/gu;

const FUNCTION_WORD = 0.1;
/** Function words that turn what a text says around. */
const NEGATIONS: ReadonlySet<string> = new Set(['not', 'no', 'nor']);

/**
 * Cosine of the weighted counts of terms, 0 to 1; 1 for two texts without any term.
 *
 * @example
 * lexicalSimilarity('so 2 + 3 is 5', 'so 2 + 3 is 6'); // about 0.75
 */
export function lexicalSimilarity(a: string, b: string): number {
  const [x, y] = [countTerms(a), countTerms(b)];
  if (x.size === 0 && y.size === 0) return 1;
  let product = 0;
  for (const [term, weight] of x) product += weight * (y.get(term) ?? 0);
  return product === 0 ? 0 : Math.min(1, product / (norm(x.values()) * norm(y.values())));
}

/**
 * Vectors of texts that are to be compared with each other: counts of terms times log((1 + n) / (1 + df)) + 1, as
 * scikit-learn has it, for n texts of which df hold the term; of length 1, or 0 for a text without any term.
 * @returns `[text][term]`
 */
export function lexicalEmbeddings(texts: readonly string[]): number[][] {
  const counts = texts.map(countTerms);
  const terms = [...new Set(counts.flatMap((count) => [...count.keys()]))];
  const rarity = terms.map((term) => {
    const holding = counts.filter((count) => count.has(term)).length;
    return Math.log((1 + texts.length) / (1 + holding)) + 1;
  });
  return counts.map((count) => {
    const vector = terms.map((term, i) => (count.get(term) ?? 0) * rarity[i]!);
    const length = norm(vector) || 1;
    return vector.map((value) => value / length);
  });
}

function countTerms(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [term] of text.normalize('NFKC').toLowerCase().matchAll(TERM)) {
    counts.set(term, (counts.get(term) ?? 0) + weightOf(term));
  }
  return counts;
}

/** The list of stop words has single letters, remains of contractions: here they are variables. */
function weightOf(term: string): number {
  const means = NEGATIONS.has(term) || /n['’]t$/.test(term) || /^[^ai]$/.test(term);
  return isStopWord(term) && !means ? FUNCTION_WORD : 1;
}

function norm(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return Math.sqrt(sum);
}
