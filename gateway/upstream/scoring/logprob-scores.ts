import { sum } from 'simple-statistics';
import { type BranchScorer, UNSCORED } from '../../../src/guard/branch.js';
import { reckoned } from '../../../src/numerics/least-logprob.js';
import type { TopToken } from '../../../src/stream/events.js';
import { scoreBy } from '../../../src/stream/written-scores.js';
import { type Method, PROBABILITY_METHODS, type Scores } from '../../../src/uncertainty/method-names.js';
import type { Capabilities, UpstreamToken } from '../upstream.js';

/** Most probable tokens that a server has to tell at least. For the margin, one of two may be the token itself. */
const LEAST = { nll: 0, entropy: 5, margin: 2 } as const;

/** Most that the entropy is of: what OpenAI allows to ask for with a chat, and with a completion. */
const MOST = { chat: 20, completion: 5 };

/** The methods that a server's log-probabilities allow. */
export const methodsOf = ({ logprobs }: Pick<Capabilities, 'logprobs'>): readonly Method[] =>
  logprobs === null ? [] : PROBABILITY_METHODS.filter((method) => LEAST[method] <= logprobs);

/** Number of most probable tokens to ask for. */
export const alternativesFor = (methods: readonly Method[], of: keyof typeof MOST): number =>
  methods.includes('entropy') ? MOST[of] : methods.length > 0 ? LEAST.margin : 0;

/**
 * Formulas of `src/uncertainty/probability.ts`, on the server's values for the token. An alternative that it calls
 * impossible adds nothing; a token that it wrote all the same has no score.
 */
const MEASURES: Readonly<Partial<Record<Method, (token: UpstreamToken) => number | null>>> = {
  nll: ({ logprob: given }) => {
    const logprob = reckoned(given);
    return logprob === null ? null : -logprob;
  },
  entropy: entropyOf,
  margin: marginOf,
};

/** −Σ p log p over the most probable tokens alone; `null` where too few are told. */
function entropyOf({ topLogprobs }: UpstreamToken): number | null {
  if (topLogprobs.length < LEAST.entropy) return null;
  const known = topLogprobs.slice(0, MOST.chat).flatMap(({ logprob }) => reckoned(logprob) ?? []);
  return known.length === 0 ? null : sum(known.map((logprob) => -logprob * Math.exp(logprob)));
}

/** 1 − (p(x) − the largest p(v), v ≠ x); `null` where no other token is told. */
function marginOf(token: UpstreamToken): number | null {
  const { topLogprobs: top } = token;
  const logprob = reckoned(token.logprob);
  if (logprob === null) return null;
  const own = indexIn(top, token, logprob);
  const others = top.flatMap((other, i) => (i === own ? [] : (reckoned(other.logprob) ?? [])));
  return others.length === 0 ? null : 1 - (Math.exp(logprob) - Math.exp(Math.max(...others)));
}

/** Index of the token among the most probable, −1 if it is not there: by its id, else by its text. */
function indexIn(top: readonly TopToken[], { id, text, bytes }: UpstreamToken, logprob: number): number {
  if (id !== null && top.some((other) => other.id !== null)) return top.findIndex((other) => other.id === id);
  // Parts of characters have the same text; no two tokens have the same text and probability.
  const near = (other: TopToken): boolean => Math.abs(other.logprob - logprob) < 1e-6;
  const same = (other: TopToken): boolean =>
    bytes && other.bytes ? isEqual(bytes, other.bytes) : other.text === text;
  const exact = top.findIndex((other) => same(other) && near(other));
  return exact >= 0 ? exact : top.findIndex(same);
}

const isEqual = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

/** Scores of a token, and methods that are missing. */
export function logprobScores(
  token: UpstreamToken,
  methods: readonly Method[],
): { readonly scores: Scores; readonly missing: readonly Method[] } {
  const scores: Partial<Record<Method, number>> = {};
  const missing: Method[] = [];
  for (const method of methods) {
    const score = MEASURES[method]?.(token) ?? null;
    if (score === null) missing.push(method);
    else scores[method] = score;
  }
  return { scores, missing };
}

/**
 * The log-probabilities that a server sends with its tokens are their scores.
 * @param methods those that they allow; none for a text that is not scored
 */
export function logprobScorer(methods: readonly Method[]): BranchScorer {
  if (methods.length === 0) return UNSCORED;
  const scorer: BranchScorer = {
    score: () => scoreBy((token) => logprobScores(token, methods)),
    fork: async () => scorer,
    close: () => {},
  };
  return scorer;
}
