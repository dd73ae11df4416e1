import { join } from 'node:path';
import { z } from 'zod';
import { each } from '#bench/concurrent-map.js';
import { Ledger } from '#bench/result-log.js';
import type { BenchProblem, Suite } from '#bench/suites/suite.js';
import type { Guard } from '#src/guard/guard.js';
import type { Method } from '#src/uncertainty/method-names.js';
import {
  type Asking,
  answerTask,
  checked,
  type Observed,
  observedSchema,
  sampleTask,
  type Trial,
  trialSchema,
} from './answer-task.js';
import { type Arm, type ArmSettings, flagCount, guarding, nameOf, unguarded } from './arms.js';

/** Results are kept by the number of their problem. */
const kept = { problem: z.int() };
const byProblem = ({ problem }: { readonly problem: number }): number => problem;

const sampleSchema = z.object({ answer: z.string().nullable(), right: z.boolean(), tokens: z.int() });
export type Sample = z.output<typeof sampleSchema>;

export interface RunOptions extends Asking {
  readonly problems: readonly BenchProblem[];
  /** Seed of the first problem's answer; each further one has the next. */
  readonly seed: number;
  readonly temperature: number;
  /** Folder of the results; `null` to keep none. */
  readonly folder: string | null;
}

/** Every problem's answer without a guard, with the scores of all its tokens. */
export async function runUnguarded(
  options: RunOptions,
  guard: Guard,
  methods: readonly Method[],
): Promise<Observed[]> {
  const { folder } = options;
  const file = folder && join(folder, 'unguarded.jsonl');
  const ledger = await Ledger.open(file, observedSchema.extend(kept), byProblem);
  const how = unguarded(guard, methods);
  return eachOf(options, 'no guard', ledger, async (problem, i) => {
    const answer = await answerTask(options, problem, sampled(options, i), how);
    return ledger.add({ problem: i, ...answer });
  });
}

/** Every problem's answer under a guard. Where the guard finds nothing to flag, that is the answer without one. */
export async function runArm(
  options: RunOptions,
  arm: Arm,
  settings: ArmSettings,
  unguarded: readonly Observed[],
): Promise<Trial[]> {
  const { folder } = options;
  const file = folder && join(folder, `${arm.trigger}-${arm.remedy}.jsonl`);
  const ledger = await Ledger.open(file, trialSchema.extend(kept), byProblem);
  return eachOf(options, nameOf(arm), ledger, async (problem, i) => {
    const same = unguarded[i]!;
    const { seed } = sampled(options, i);
    if (flagCount(arm.trigger, same, seed, settings) === 0) return same;
    const how = guarding(arm, seed, settings);
    const trial = trialSchema.parse(await answerTask(options, problem, sampled(options, i), how));
    return ledger.add({ problem: i, ...trial });
  });
}

/**
 * The n-th answer to every problem without a guard, of which only the last line counts. The first, `number` 0, has the
 * seed of the guarded ones.
 */
export async function runSamples(options: RunOptions, number: number): Promise<Sample[]> {
  const { folder, suite, temperature } = options;
  const file = folder && join(folder, `T-${temperature}-${number}.jsonl`);
  const ledger = await Ledger.open(file, sampleSchema.extend(kept), byProblem);
  return eachOf(options, `T = ${temperature}, answer ${number + 1}`, ledger, async (problem, i) => {
    const seed = sampled(options, i).seed + number * SAMPLE_SEEDS;
    const { text, tokens } = await sampleTask(options, problem, { temperature, seed });
    return ledger.add({ problem: i, ...sampleOf(suite, problem, { text, tokens }) });
  });
}

/** Data of an answer for a vote. */
export function sampleOf(
  suite: Suite,
  problem: BenchProblem,
  { text, tokens }: Pick<Trial, 'text' | 'tokens'>,
): Sample {
  const { extracted, correct } = checked(suite, problem, text);
  return { answer: extracted, right: correct, tokens };
}

/** Works on what is not known yet. */
const eachOf = <T, K extends T & object>(
  { problems }: RunOptions,
  name: string,
  ledger: Ledger<K>,
  work: (problem: BenchProblem, i: number) => Promise<T>,
): Promise<T[]> => each(name, problems, async (problem, i) => ledger.get(i) ?? work(problem, i));

/** Distance of the seeds of one problem's answers, apart from those of other problems' answers. */
const SAMPLE_SEEDS = 10_000_019;

const sampled = ({ seed, temperature }: RunOptions, i: number) => ({ temperature, seed: seed + i });
