import { segmentText } from 'flinch';
import { mean } from 'simple-statistics';
import { samplesNeeded } from '../../measures/measure.js';
import { type Run, textOf } from '../run-context.js';
import type { StageName } from '../stage-names.js';

/** Average findings of a judge in a response: assumed until some of it is known. */
export interface JudgedSizes {
  readonly sentences: number;
  readonly claims: number;
  /** Claims in the graph of a response and its further responses. */
  readonly graphClaims: number;
}

const TOKENS_OF_SENTENCE = 25;
const CLAIMS_OF_SENTENCE = 4;
/** Claims of a graph for each claim of the response. */
const CLAIMS_OF_GRAPH = 2;

export function judgedSizes({ records }: Pick<Run, 'records'>, responseTokens: number): JudgedSizes {
  const average = (counts: readonly number[]): number | null => (counts.length > 0 ? mean(counts) : null);
  const responses = average([...records.responses.values()].map((one) => segmentText(textOf(one)).length));
  const claims = average(
    [...records.claims.values()].filter((one) => !one.rejected).map((one) => one.claims.length),
  );
  const graphs = average([...records.graphs.values()].map((one) => one.claims.length));
  const sentences = responses ?? responseTokens / TOKENS_OF_SENTENCE;
  const found = claims ?? CLAIMS_OF_SENTENCE * sentences;
  return {
    sentences,
    claims: found,
    graphClaims: graphs ?? CLAIMS_OF_GRAPH * found,
  };
}

/** Requests to a judge for one response, if each answer can be read the first time and no two ask the same. */
export function requestsEach(
  stage: StageName,
  { measures }: Pick<Run, 'measures'>,
  { sentences, claims, graphClaims }: JudgedSizes,
): number {
  if (stage === 'check') return 1;
  // An analysis, and the step that it names.
  if (stage === 'locate') return 2;
  if (stage === 'claims') return sentences + claims;
  if (stage !== 'graph') return 0;
  const samples = samplesNeeded(measures.filter(({ kind }) => kind === 'claim_graph'));
  // The claims of each further response, the new ones among them, and the support of all claims by each
  // response.
  return 2 * samples + (samples + 1) * graphClaims;
}
