import type { Encoders } from '../../encoder/encoders.js';
import type { Engine } from '../../engine/engine.js';
import type { Judge } from '../judge/judge.js';
import type { Measure } from '../measures/measure.js';
import { type ResponseStep, responseSteps } from '../steps/response-steps.js';
import type { BenchProblem, Suite } from '../suites/suite.js';
import type { ClaimSource } from './claim-source.js';
import type { ResponseRecord } from './records.js';
import type { RunRecords } from './run-folder.js';
import type { RunSettings } from './settings.js';

/** What the stages of a run work with. */
export interface Run {
  readonly engine: Engine;
  readonly suite: Suite;
  /** Of this shard, in their order. */
  readonly problems: readonly BenchProblem[];
  readonly settings: RunSettings;
  readonly records: RunRecords;
  readonly measures: readonly Measure[];
  readonly encoders: Encoders;
  readonly judge: Judge | null;
  /** Of suites that are judged by claims. */
  readonly claims: ClaimSource | null;
  /** Responses that are written at once. */
  readonly streams: number;
  /** Responses that are timed. */
  readonly timed: number;
  readonly signal: AbortSignal;
}

export const textOf = ({ tokenTexts }: Pick<ResponseRecord, 'tokenTexts'>): string => tokenTexts.join('');

/** @param mode of the run: `given` is that of the problem, where it came in steps */
export function stepsOf(
  mode: RunSettings['steps'],
  { given }: BenchProblem,
  { tokenTexts }: Pick<ResponseRecord, 'tokenTexts'>,
): ResponseStep[] {
  if (mode === 'given' && given) return responseSteps(tokenTexts, given.steps);
  return responseSteps(tokenTexts, mode === 'given' ? 'sentence' : mode);
}
