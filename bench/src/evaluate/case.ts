import type { CheckRecord, LocatedRecord, ResponseRecord, ScoreRecord } from '../records/records.js';
import { AGGREGATIONS, aggregate } from '../steps/aggregation.js';
import { firstWrongStep } from '../steps/first-wrong-step.js';
import { type ResponseStep, tokensIn } from '../steps/response-steps.js';
import { chancesOf, firstChancesOf, hitsOf, type TokenRankings, tokenRankings } from './token-rankings.js';

/** How the scores of tokens become one; `own` of measures that score steps or responses themselves. */
export type Aggregated = (typeof AGGREGATIONS)[number] | 'own';

/** The check of an answer that it is sure of. */
export type Labelled = CheckRecord & { readonly correct: boolean };

/** Records of a problem's response. */
export interface Known {
  readonly subset: string;
  readonly response: ResponseRecord;
  readonly check: Labelled;
  readonly located: LocatedRecord | null;
  readonly steps: readonly ResponseStep[];
}

/**
 * Numbers from a measure's scores of one response that the tables need: all scores together would not fit in
 * memory.
 */
export interface MeasureDigest {
  /** Whether the first wrong step holds one of the highest tokens, for each of HIT_KS; of wrong responses. */
  readonly hits: readonly boolean[] | null;
  readonly steps: ReadonlyMap<Aggregated, readonly number[]>;
  readonly response: ReadonlyMap<Aggregated, number>;
}

/** A response that was scored. */
export interface ScoredCase {
  readonly id: string;
  readonly subset: string;
  readonly correct: boolean;
  /** Whether the response counts for tables of hits: it is wrong, and its first wrong step is known. */
  readonly wrong: boolean;
  readonly firstWrong: number | null;
  readonly steps: number;
  /** How likely the first wrong step holds one of the highest tokens by chance, as {@link MeasureDigest.hits}. */
  readonly chance: readonly number[] | null;
  /** The same among the first tokens of steps alone; not defined where first words are left out. */
  readonly first: readonly number[] | null;
  readonly measures: ReadonlyMap<string, MeasureDigest>;
}

/** Rows of every table that no model is asked for. */
export const CHANCE = 'chance';
export const LONGEST = 'longest';
/** Later tokens and steps first. */
export const POSITION = 'position';
/** First tokens of steps first, drawn at random. */
export const FIRST = 'first';
export const CONTROLS: readonly string[] = [CHANCE, LONGEST, POSITION, FIRST];

/**
 * @param measures that there must be scores of
 * @param wrong whether it counts for tables of hits
 * @throws RangeError where scores are missing
 */
export function digest(
  known: Known,
  score: ScoreRecord,
  measures: readonly string[],
  wrong: boolean,
): ScoredCase {
  const { response, steps, located, check } = known;
  const span = located?.span ?? null;
  const firstWrong = firstWrongStep(
    span,
    steps.map((step) => step.span),
  );
  const range =
    wrong && span && firstWrong !== null
      ? (tokensIn(response.tokenTexts, span) ?? steps[firstWrong]!.tokens)
      : null;
  const rankings = range && tokenRankings(response.tokenTexts, steps, range);
  const tokens = response.tokenIds.length;
  const digests = new Map<string, MeasureDigest>();
  for (const name of measures) {
    checkScores(name, score, tokens, steps.length);
    digests.set(name, digestMeasure(name, score, steps, rankings));
  }
  digests.set(LONGEST, {
    hits: null,
    steps: new Map([['own', steps.map((step) => step.tokens.end - step.tokens.start)]]),
    response: new Map([['own', tokens]]),
  });
  const places = response.tokenIds.map((_, i) => i);
  digests.set(POSITION, {
    hits: rankings && hitsOf(rankings, places),
    steps: new Map([['own', steps.map((_, i) => i)]]),
    response: new Map(),
  });
  return {
    id: response.id,
    subset: known.subset,
    correct: check.correct,
    wrong: range !== null,
    firstWrong,
    steps: steps.length,
    chance: rankings && chancesOf(rankings),
    first: rankings && firstChancesOf(rankings, steps.length),
    measures: digests,
  };
}

/** @throws RangeError where they are missing, or not as many as there are tokens, steps or claims */
export function checkScores(
  name: string,
  score: ScoreRecord,
  tokens: number,
  steps: number,
  claims = 0,
): void {
  const { tokens: ofTokens, stepScores, response, claimScores, id } = score;
  const [token, step, whole, claim] = [ofTokens[name], stepScores[name], response[name], claimScores?.[name]];
  if (!token && !step && !claim && whole === undefined)
    throw new RangeError(`${id}: has no scores of ${name}`);
  if (token && token.length !== tokens)
    throw new RangeError(`${id}: has ${token.length} scores of ${name} for ${tokens} tokens`);
  if (step && step.length !== steps)
    throw new RangeError(`${id}: has ${step.length} scores of ${name} for ${steps} steps`);
  if (claim && claim.length !== claims)
    throw new RangeError(`${id}: has ${claim.length} scores of ${name} for ${claims} claims`);
}

/** CCP's own scores are its tokens' sums. */
const isOwnSum = (measure: string): boolean => /^ccp\b/.test(measure);

/** @param rankings of the tokens of a response that counts for tables of hits */
export function digestMeasure(
  name: string,
  score: ScoreRecord,
  steps: readonly ResponseStep[],
  rankings: TokenRankings | null,
): MeasureDigest {
  const tokens = score.tokens[name];
  const ofSteps = new Map<Aggregated, readonly number[]>();
  const ofResponse = new Map<Aggregated, number>();
  if (tokens) {
    for (const aggregation of AGGREGATIONS) {
      if (aggregation === 'sum' && isOwnSum(name)) continue;
      ofSteps.set(
        aggregation,
        steps.map((step) => aggregate(aggregation, tokens.slice(step.tokens.start, step.tokens.end))),
      );
      ofResponse.set(aggregation, aggregate(aggregation, tokens));
    }
  }
  const ownSteps = score.stepScores[name];
  if (ownSteps) ofSteps.set('own', ownSteps);
  const ownResponse = score.response[name];
  if (ownResponse !== undefined) ofResponse.set('own', ownResponse);
  return {
    hits: tokens && rankings ? hitsOf(rankings, tokens) : null,
    steps: ofSteps,
    response: ofResponse,
  };
}
