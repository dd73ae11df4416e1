import { hash32 } from 'flinch/internals';
import type { LocatedRecord, RolloutRecord } from '../records/records.js';
import type { RolloutSettings } from '../records/run-settings.js';
import type { Ledger } from '../result-log.js';
import type { BenchProblem } from '../suites/suite.js';
import type { Beginning, Completer } from './completer.js';
import { type Draws, NOTHING, type RolloutRule, rolloutVerdict } from './rollout-rule.js';

/** A completion as it is remembered: texts stay in the file. */
export type DrawnRollout = Omit<RolloutRecord, 'text'>;

type RolloutKey = Pick<RolloutRecord, 'id' | 'prefix' | 'sample'>;

export const rolloutKey = ({ id, prefix, sample }: RolloutKey): string => `${prefix} ${sample} ${id}`;

/** A part of the seed: with the seed of a response, a completion of no step would be that response again. */
const ROLLOUTS = 0x726f6c6c;

/** It depends on the place alone, so that any part of a run draws what the whole would. */
const rolloutSeed = (seed: number, { id, prefix, sample }: RolloutKey): number =>
  hash32(seed, ROLLOUTS, prefix, sample, ...Buffer.from(id)) >>> 1;

/** How the steps of all responses are labelled. */
export interface Rollouts extends RolloutRule, Pick<RolloutSettings, 'temperature'> {
  readonly completer: Completer;
  readonly topP: number;
  readonly seed: number;
  /** All that were drawn: none is drawn twice. */
  readonly known: Ledger<DrawnRollout>;
  readonly signal: AbortSignal;
}

/** A wrong response of at least one step. */
export interface RolloutCase {
  readonly problem: BenchProblem;
  /** What stands before each step. */
  readonly beginnings: readonly Beginning[];
  /** Whether a whole response has the known answer. */
  readonly isRight: (response: string) => boolean;
}

/** `step`: the first wrong one, counted from 0; `null` if the answer is out of reach from the prompt. */
export type RolloutLabel = Required<Pick<LocatedRecord, 'rollouts'>> & { readonly step: number | null };

/** Draws completions one after the other, only as many as decide, and stores each. */
export async function labelByRollouts(one: RolloutCase, rollouts: Rollouts): Promise<RolloutLabel> {
  const { id } = one.problem;
  const { known, signal } = rollouts;
  const prefixes: Draws[] = [];
  let tokens = 0;
  for (;;) {
    const verdict = rolloutVerdict(prefixes, one.beginnings.length, rollouts);
    if (!('next' in verdict)) {
      const step = 'step' in verdict ? verdict.step : null;
      return { step, rollouts: { rollouts: rollouts.rollouts, prefixes, tokens } };
    }
    const prefix = verdict.next;
    const { drawn, reached } = prefixes[prefix] ?? NOTHING;
    const place = { id, prefix, sample: drawn };
    signal.throwIfAborted();
    const { correct, tokens: written } =
      known.get(rolloutKey(place)) ?? known.add(await draw(one, place, rollouts));
    prefixes[prefix] = { drawn: drawn + 1, reached: reached + (correct ? 1 : 0) };
    tokens += written;
  }
}

async function draw(
  { problem, beginnings, isRight }: RolloutCase,
  place: RolloutKey,
  { completer, temperature, topP, seed, signal }: Rollouts,
): Promise<RolloutRecord> {
  const beginning = beginnings[place.prefix]!;
  const sampling = { temperature, topP, seed: rolloutSeed(seed, place) };
  const start = performance.now();
  const completed = await completer.complete({ problem, beginning, ...sampling }, signal);
  const seconds = (performance.now() - start) / 1000;
  // One that was cut off has no final answer.
  const correct = completed.finish === 'stop' && isRight(beginning.text + completed.text);
  return { ...place, ...completed, correct, seconds };
}
