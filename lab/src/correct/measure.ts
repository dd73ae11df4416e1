import { defaultDataFolder, suiteFolder } from '#bench/data/folder.js';
import { thisMachine } from '#bench/markdown-table.js';
import { claimFolder } from '#bench/result-log.js';
import { commandLine } from '#bench/run/command-line.js';
import { limited } from '#bench/run/problems.js';
import type { BenchProblem } from '#bench/suites/suite.js';
import { suites } from '#bench/suites/suites.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import type { DeviceChoice } from '#src/engine/device.js';
import type { Engine } from '#src/engine/engine.js';
import type { Precision } from '#src/engine/precision.js';
import { samplingDefaults } from '#src/engine/sampler.js';
import { UsageError } from '#src/files/errors.js';
import { DEFAULT_GUARD, type Guard } from '#src/guard/guard.js';
import { calibrationOf } from '#src/risk/calibration-file.js';
import type { RiskModel } from '#src/risk/risk.js';
import { riskModel } from '#src/risk/risk-model.js';
import { TASKS } from '#src/tasks/problem.js';
import type { Method } from '#src/uncertainty/method-names.js';
import { absoluteScoring } from '#src/uncertainty/settings.js';
import type { Trial } from './answer-task.js';
import {
  type Arm,
  type ArmSettings,
  flagCount,
  methodOf,
  methodsOf,
  nameOf,
  scoringFor,
  type Trigger,
  thresholdFor,
  unitsOf,
} from './arms.js';
import { compare, type Outcome } from './comparison.js';
import type { CorrectReport } from './correct-report.js';
import { measureDelays } from './delays.js';
import { type RunOptions, runArm, runSamples, runUnguarded, sampleOf } from './run.js';
import { type Ladder, ladder, type Sampling, sameBudget } from './self-consistency.js';

/** Suites whose answers need no judge. */
export const CHECKED_SUITES = ['tasks', 'questions', 'gsm8k', 'math', 'bbh'] as const;

export interface CorrectOptions {
  readonly model: string;
  readonly suite: (typeof CHECKED_SUITES)[number];
  readonly data?: string;
  readonly subsets?: string[];
  readonly maxTokens: number;
  readonly device: DeviceChoice;
  readonly precision: Precision;
  readonly problems: number;
  readonly seed: number;
  readonly temperature?: number;
  readonly arms: readonly Arm[];
  readonly samples: number;
  readonly controls: readonly number[];
  readonly held: number;
  readonly out?: string;
  readonly json?: boolean;
  readonly rate: number;
  readonly candidates: number;
  readonly actOn: Guard['actOn'];
  readonly maxRollbacks: number;
}

/** Answers the problems in all ways, and compares them. @throws UsageError; EngineError */
export async function measure(engine: Engine, options: CorrectOptions): Promise<CorrectReport> {
  const { seed, arms, out = null } = options;
  const temperature = options.temperature ?? samplingDefaults(engine.checkpoint.generation).temperature;
  const problems = await problemsOf(options);
  const [main] = arms as readonly [Arm, ...Arm[]];
  if (main.trigger === 'chance' || main.trigger === 'always')
    throw new UsageError('--arms: the first arm must flag by a measure');
  const guard: Guard = {
    ...DEFAULT_GUARD,
    method: methodOf(main.trigger),
    rate: options.rate,
    candidates: options.candidates,
    actOn: options.actOn,
    maxRollbacks: options.maxRollbacks,
  };
  const risks = await risksFor(engine, methodOf(main.trigger));
  if (out !== null) {
    const model = await fingerprint(engine.checkpoint);
    const { suite, subsets = null, maxTokens, precision } = options;
    // Results are kept by the place of a problem, which in a file's selection depends on how many there are.
    const selected = suite === 'tasks' ? null : problems.length;
    const asked = { suite, subsets, selected, maxTokens, seed, temperature };
    claimFolder(out, { model, precision, ...asked, methods: methodsOf(arms), guard });
  }
  const suite = suites[options.suite];
  const { maxTokens } = options;
  const run: RunOptions = { engine, suite, maxTokens, problems, seed, temperature, folder: out };
  const unguarded = await runUnguarded(run, guard, methodsOf(arms));
  const flagShare = (trigger: Trigger, settings: ArmSettings): number => {
    const flags = unguarded.map((answer, i) => flagCount(trigger, answer, seed + i, settings));
    return total(flags) / total(unguarded.map((answer) => unitsOf(answer, guard.actOn).length));
  };
  const share = flagShare(main.trigger, {
    guard,
    risks,
    main: main.trigger,
    share: 0,
    thresholds: new Map(),
  });
  const thresholds = new Map(
    methodsOf(arms).map((method) => [method, thresholdFor(method, unguarded, guard, share)]),
  );
  const settings: ArmSettings = { guard, risks, main: main.trigger, share, thresholds };

  const first = problems.map((problem, i) => sampleOf(suite, problem, unguarded[i]!));
  const ladders: Ladder[] = [];
  for (const other of [temperature, ...options.controls.filter((control) => control !== temperature)]) {
    const samplings: Sampling[] = other === temperature ? [first] : [];
    // All answers at temperature 0 are the same.
    const last = other === 0 ? 0 : options.samples;
    for (let number = samplings.length; number <= last; number++)
      samplings.push(await runSamples({ ...run, temperature: other }, number));
    ladders.push(ladder(other, samplings));
  }
  const outcomes: Outcome[] = [];
  const trials = new Map<string, readonly Trial[]>();
  for (const arm of arms) {
    const name = nameOf(arm);
    const answers = await runArm(run, arm, settings, unguarded);
    trials.set(name, answers);
    outcomes.push(outcomeOf(name, answers));
  }
  const none = ladders[0]!.rungs[0]!;
  const chance = (arm: Arm): Outcome[] =>
    outcomes.filter(({ name }) => arm.trigger !== 'chance' && name === nameOf({ ...arm, trigger: 'chance' }));
  const guarded = arms.map((arm, i) =>
    compare(outcomes[i]!, [
      none,
      ...chance(arm),
      ...ladders.map((unguardedWays) => sameBudget(outcomes[i]!, unguardedWays)),
    ]),
  );
  const ways = ladders.map(({ temperature, rungs }) => ({
    temperature,
    rungs: rungs.map((rung) => compare(rung, rung === none ? [] : [none])),
  }));
  return {
    command: commandLine('npm run lab --', 'correct'),
    model: engine.checkpoint.name,
    precision: options.precision,
    machine: thisMachine(),
    suite: suite.name,
    problems: problems.length,
    seed,
    temperature,
    guard,
    flagged: Object.fromEntries(
      [...new Set(arms.map(({ trigger }) => trigger))].map((trigger) => [
        trigger,
        flagShare(trigger, settings),
      ]),
    ),
    guarded,
    unguarded: ways,
    outcomes: [...ladders.flatMap(({ rungs }) => rungs), ...outcomes].map(({ name, right, tokens }) => ({
      name,
      right: right.map(Number).join(''),
      tokens,
    })),
    families: [...new Set(problems.map(({ subset }) => subset))].map((subset) =>
      familyOf(subset, problems, { 'no guard': unguarded, ...Object.fromEntries(trials) }),
    ),
    delays:
      options.held > 0
        ? await measureDelays({ ...run, problems: problems.slice(0, options.held) }, main, settings)
        : null,
  };
}

async function problemsOf(options: CorrectOptions): Promise<readonly BenchProblem[]> {
  const { suite, data, problems: count, seed, subsets } = options;
  const all = await suites[suite].load({
    folder: suiteFolder(data ?? defaultDataFolder(), suite),
    subsets: subsets ?? (suite === 'tasks' ? TASKS : null),
    seed,
    count,
  });
  return limited(all, count);
}

/** @throws UsageError without a calibration that holds for the main arm's measure: its rate would mean nothing */
async function risksFor(engine: Engine, method: Method): Promise<RiskModel> {
  const { checkpoint } = engine;
  const scoring = await absoluteScoring(scoringFor([method]), checkpoint.embeddingRms);
  const file = await calibrationOf(checkpoint);
  const { risks, warnings } = await riskModel(checkpoint, file, scoring, [method]);
  if (warnings.length > 0) throw new UsageError(`calibration: ${warnings.join('; ')}`);
  return risks;
}

function outcomeOf(name: string, answers: readonly Trial[]): Outcome {
  return {
    name,
    right: answers.map(({ right }) => right),
    tokens: answers.map(({ generated }) => generated),
    kept: total(answers.map(({ kept }) => kept)),
    replaced: total(answers.map(({ replaced }) => replaced)),
  };
}

function familyOf(
  subset: string,
  problems: readonly BenchProblem[],
  ways: Readonly<Record<string, readonly Trial[]>>,
) {
  const indices = problems.flatMap((problem, i) => (problem.subset === subset ? [i] : []));
  const accuracy = Object.fromEntries(
    Object.entries(ways).map(([name, trials]) => [
      name,
      indices.filter((i) => trials[i]!.right).length / indices.length,
    ]),
  );
  return { subset, problems: indices.length, accuracy };
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
