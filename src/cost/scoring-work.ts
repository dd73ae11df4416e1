import { needsReplicas } from '../uncertainty/replicas.js';
import { passSize } from '../uncertainty/schedule.js';
import { DEFAULT_RANDOM, DEFAULT_TOKUR, type Scoring } from '../uncertainty/settings.js';

/** A response, in tokens. */
export interface ResponseSize {
  readonly prompt: number;
  readonly response: number;
}

/** Positions that go through the model, for each part of the work of a response. */
export interface ResponseWork {
  /** Prompt and response, once for writing and once for scoring. */
  readonly text: number;
  readonly adversarial: number;
  readonly random: number;
  readonly tokur: number;
}

/** A pass goes forward, backward and forward. */
const DIRECTIONS = 3;

/**
 * Upper bound of a response's work: under the schedule `lazy` as if every block had a doubtful token. Continuations
 * that a guard draws do not count.
 */
export function responseWork(scoring: Scoring, { prompt, response }: ResponseSize): ResponseWork {
  const positions = prompt + response;
  const { schedule, random = DEFAULT_RANDOM, tokur = DEFAULT_TOKUR } = scoring;
  const attacks = scoring.methods.includes('adversarial');
  const passes = schedule.kind === 'offline' ? 1 : Math.ceil(response / schedule.block);
  return {
    text: 2 * positions,
    adversarial: attacks ? passes * DIRECTIONS * passSize(schedule, positions) : 0,
    random: needsReplicas('noise', scoring) ? random.samples * positions : 0,
    tokur: needsReplicas('tokur', scoring) ? tokur.samples * positions : 0,
  };
}
