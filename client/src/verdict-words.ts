import type { FlinchVerdict } from './flinch-metadata.js';
import { rankWords } from './risk-scale.js';

const UNKNOWN_WORDS: Readonly<Record<string, string>> = {
  unscored_tokens: 'some tokens have no score',
  unscored_parts: 'some parts have no score',
  scorer_mismatch: 'the scorer does not match the server',
  too_few_answers: 'too few ordinary answers are known',
  empty: 'there is no text',
  guard_off: 'the guard is off',
  no_verdict: 'it ended without a verdict',
  no_flinch: 'the server is not flinch',
  protocol_error: 'the scores cannot be read',
};

type Judged = Pick<FlinchVerdict, 'flagged' | 'risk' | 'reason'> & { rate?: number; calibrated?: boolean };

function unknownWords({ reason, rate, calibrated }: Judged): string {
  if (reason === 'too_few_answers' && calibrated && rate !== undefined) {
    // A score above all n ordinary ones has the rank n / (n + 1).
    const needed = Math.ceil(1 / rate) - 1;
    return `the calibration has too few answers: a rate of ${Number((100 * rate).toPrecision(3))} % needs ${needed}`;
  }
  return UNKNOWN_WORDS[reason ?? ''] ?? `${reason}`;
}

/** The verdict on a whole answer, in words. */
export function verdictWords(verdict: Judged): string {
  const { flagged, risk } = verdict;
  if (flagged === null) return `answer not judged: ${unknownWords(verdict)}`;
  const rank = risk === null ? '' : `: ${rankWords(risk, 'whole')}`;
  return `answer ${flagged ? '' : 'not '}flagged${rank}`;
}

/** What a reader is to do with an answer. */
export interface Advice {
  /** `null`: nobody has judged the answer. */
  readonly check: boolean | null;
  /** A few words, which come first. */
  readonly head: string;
  /** A sentence that says what they rest on. */
  readonly why: string;
}

/**
 * The advice on an answer in words. An answer and its steps are judged apart: a step can be flagged in an ordinary
 * answer, so the sentence says how both stand.
 * @param flagged numbers of its flagged steps, from 0
 */
export function adviceWords(verdict: FlinchVerdict, flagged: readonly number[]): Advice {
  const { flagged: whole, reason } = verdict;
  const steps = stepsWords(flagged);
  const check = (head: string, why: string): Advice => ({ check: true, head, why });
  if (reason === 'stopped') return check('Check this', 'The guard stopped the answer at a doubtful step.');
  if (whole) {
    if (flagged.length === 0)
      return check('Check this', 'The answer as a whole is unusual, but no single step of it.');
    const verb = flagged.length === 1 ? 'is' : 'are';
    return check('Check this', `The answer as a whole is unusual, and so ${verb} ${steps}.`);
  }
  const rest = whole === null ? `is not judged: ${unknownWords(verdict)}` : 'looks ordinary';
  if (flagged.length > 0) return check(`Worth checking: ${steps}`, `The answer as a whole ${rest}.`);
  if ('advice' in verdict && verdict.advice === 'check')
    return check('Worth checking', `A step that is not shown is unusual; the answer as a whole ${rest}.`);
  if (whole === null) return { check: null, head: 'Not judged', why: sentence(unknownWords(verdict)) };
  return { check: false, head: 'Looks ordinary', why: 'It can still be wrong.' };
}

const sentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

/** Steps by their numbers from 1. @param numbers from 0 */
export function stepsWords(numbers: readonly number[]): string {
  const [last = 0, ...earlier] = numbers.map((number) => number + 1).reverse();
  if (earlier.length === 0) return `step ${last}`;
  return `steps ${earlier.reverse().join(', ')} and ${last}`;
}
