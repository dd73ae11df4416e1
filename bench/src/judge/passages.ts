/** Number of passages for the judge, as in FActScore (arXiv 2305.14251). */
const PASSAGES = 5;
/** Saturation of a word's count, and how much a passage's length counts: those of rank_bm25, which FActScore uses. */
const [K1, B] = [1.5, 0.75];

/**
 * The passages that fit a query best by Okapi BM25 (Robertson and Zaragoza, 2009), in their own order. With log(1 + …)
 * no word counts against a passage, however frequent it is.
 */
export function bestPassages(passages: readonly string[], query: string, most = PASSAGES): readonly string[] {
  if (passages.length <= most) return passages;
  const counts = passages.map((passage) => countsOf(wordsOf(passage)));
  const lengths = counts.map((words) => [...words.values()].reduce((sum, count) => sum + count, 0));
  const meanLength = lengths.reduce((sum, length) => sum + length, 0) / passages.length || 1;
  const terms = [...new Set(wordsOf(query))].map((word) => {
    const containing = counts.filter((words) => words.has(word)).length;
    return { word, idf: Math.log(1 + (passages.length - containing + 0.5) / (containing + 0.5)) };
  });
  const scores = counts.map((words, i) =>
    terms.reduce((sum, { word, idf }) => {
      const count = words.get(word) ?? 0;
      return sum + (idf * count * (K1 + 1)) / (count + K1 * (1 - B + (B * lengths[i]!) / meanLength));
    }, 0),
  );
  const best = new Set(
    passages
      .map((_, i) => i)
      .sort((a, b) => scores[b]! - scores[a]!)
      .slice(0, most),
  );
  return passages.filter((_, i) => best.has(i));
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
