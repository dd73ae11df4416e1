import { ModelError } from '../../files/file-errors.js';

/** Pieces of SentencePiece have 16 characters by default; a long one has as many ways to be cut as characters. */
const MAX_LENGTH = 512;
/** Gemma 3 has 514,906. Pieces of one character repeated can be cut anywhere. */
const MAX_MERGES = 2 ** 20;

interface ScoredPieces {
  readonly tokens: readonly string[];
  /** One for each token. */
  readonly scores: readonly number[];
  /** Whether a token can be made by merging, and be merged. */
  readonly mergeable: readonly boolean[];
}

/**
 * The merges of a SentencePiece BPE, of which a GGUF file has only the scores: of all pieces that two others make, the
 * one with the highest score is made first. As `transformers` finds them in a SentencePiece model.
 *
 * @throws ModelError for a piece that is too long, and for too many merges
 */
export function mergesByScore(
  { tokens, scores, mergeable }: ScoredPieces,
  file: string,
): (readonly [string, string])[] {
  const ids = new Map(tokens.flatMap((token, i) => (mergeable[i] ? [[token, i] as const] : [])));
  const merges: { readonly score: number; readonly made: readonly [number, number] }[] = [];
  for (const [token, i] of ids) {
    const score = scores[i] ?? 0;
    if (token.length > MAX_LENGTH) {
      const problem = `has ${token.length} characters (at most ${MAX_LENGTH})`;
      throw new ModelError(file, `tokenizer.ggml.tokens[${i}]`, problem);
    }
    const cuts = [];
    for (let at = 1; at < token.length; at += 1) {
      const [left, right] = [ids.get(token.slice(0, at)), ids.get(token.slice(at))];
      if (left !== undefined && right !== undefined) cuts.push([left, right] as const);
    }
    cuts.sort(([a, b], [c, d]) => a - c || b - d);
    for (const made of cuts) merges.push({ score, made });
    if (merges.length > MAX_MERGES) {
      throw new ModelError(file, 'tokenizer.ggml.tokens', `make more than ${MAX_MERGES} merges`);
    }
  }
  // Sorting is stable: equal scores stay in the order of the vocabulary.
  return merges
    .toSorted((a, b) => b.score - a.score)
    .map(({ made: [left, right] }) => [tokens[left] ?? '', tokens[right] ?? ''] as const);
}
