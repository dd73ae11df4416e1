import { mean } from 'simple-statistics';
import type { RunSettings } from '../../records/settings.js';
import type { Run } from '../run-context.js';
import { TOKENS_OF_SENTENCE } from './judge-requests.js';
import type { Speed } from './speed.js';

/** Average work for the label of one response by rollouts. */
export interface RolloutCost {
  readonly completions: number;
  readonly tokens: number;
  /** Whether it is that of the labels that are there. */
  readonly known: boolean;
}

/** Completions until one reaches the answer, where it is in reach. */
const UNTIL_REACHED = 2;

export function rolloutCost(
  { rollouts }: Extract<RunSettings['label'], { by: 'rollouts' }>,
  { records }: Pick<Run, 'records'>,
  { responseTokens }: Pick<Speed, 'responseTokens'>,
): RolloutCost {
  const labels = [...records.located.values()].flatMap((label) => label.rollouts ?? []);
  if (labels.length > 0) {
    const drawn = labels.map(({ prefixes }) => prefixes.reduce((sum, prefix) => sum + prefix.drawn, 0));
    return { completions: mean(drawn), tokens: mean(labels.map(({ tokens }) => tokens)), known: true };
  }
  // The first wrong step is in the middle: half of the prefixes reach the answer, the next one does not. What is left to
  // write is half of a response.
  const reaching = responseTokens / TOKENS_OF_SENTENCE / 2;
  const completions = Math.min(UNTIL_REACHED, rollouts) * reaching + rollouts;
  return { completions, tokens: (completions * responseTokens) / 2, known: false };
}
