import type { Engine, StepMode } from 'flinch';
import type { Encoders } from '../encoder/encoders.js';
import type { Judge } from '../judge/judge.js';
import type { Measure } from '../measures/measure.js';
import type { ResponseRecord } from '../records/records.js';
import type { RunSettings } from '../records/run-settings.js';
import type { SelectionRule } from '../records/selection.js';
import type { Completer } from '../rollouts/completer.js';
import { type ResponseStep, responseSteps } from '../steps/response-steps.js';
import type { BenchProblem, Suite } from '../suites/suite.js';
import type { ClaimSource } from './claim-source.js';
import type { RunRecords } from './run-folder.js';
import type { Writer } from './writer/writer.js';

/** A run that could begin: its models are open, its problems read, its options make sense. */
export interface PreparedRun {
  readonly engine: Engine;
  readonly suite: Suite;
  /** All, in their order. */
  readonly problems: readonly BenchProblem[];
  readonly measures: readonly Measure[];
  readonly encoders: Encoders;
  readonly writer: Writer;
  /** Goes on with responses, if their first wrong steps are labelled by rollouts. */
  readonly completer: Completer | null;
  /** Source of claims, for suites that are judged by claims. */
  readonly claims: ClaimSource | null;
  readonly settings: RunSettings;
}

/** Context of the stages of a run. */
export interface Run extends PreparedRun {
  readonly rule: SelectionRule;
  readonly records: RunRecords;
  readonly judge: Judge | null;
  /** Responses that are written at once. */
  readonly streams: number;
  /** Responses that are timed. */
  readonly timed: number;
  readonly signal: AbortSignal;
}

export const textOf = ({ tokenTexts }: Pick<ResponseRecord, 'tokenTexts'>): string => tokenTexts.join('');

/** The steps of a response: those in which it came with its problem, else sentences. */
export function stepsOf(
  problem: Pick<BenchProblem, 'given'>,
  { tokenTexts }: Pick<ResponseRecord, 'tokenTexts'>,
): ResponseStep[] {
  const { given } = problem;
  return responseSteps(tokenTexts, given && !given.whole ? given.steps : stepMode(problem));
}

/** How a text is cut that did not come in steps: a further response in such pieces as the one that is scored has. */
export const stepMode = ({ given }: Pick<BenchProblem, 'given'>): StepMode =>
  given && !given.whole ? 'paragraph' : 'sentence';
