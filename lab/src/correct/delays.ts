import { quantile } from 'simple-statistics';
import type { BenchProblem } from '#bench/suites/suite.js';
import { type Asking, answerTask, type Observed } from './answer-task.js';
import { type Arm, type ArmSettings, guarding, methodOf, unguarded } from './arms.js';

export interface Quantiles {
  readonly median: number;
  readonly p95: number;
  readonly max: number;
}

/** Time that a guard costs, one answer after the other. */
export interface Delays {
  readonly answers: number;
  /** Time of a whole answer: scored without a guard, corrected at once, corrected and held. */
  readonly seconds: Readonly<Record<'unguarded' | 'immediate' | 'held', Quantiles>>;
  /** Steps of held answers without a rollback: tokens that were there, beyond the step's own, when it was released. */
  readonly steps: number;
  readonly tokensBeyond: Quantiles | null;
  /** Time from a step's first token to its release, for these steps. */
  readonly ms: Quantiles | null;
}

export interface DelayRun extends Asking {
  readonly problems: readonly BenchProblem[];
  readonly seed: number;
  readonly temperature: number;
}

/** Each problem in all three ways in turn. */
export async function measureDelays(run: DelayRun, arm: Arm, settings: ArmSettings): Promise<Delays> {
  const { problems, seed, temperature } = run;
  const seconds = { unguarded: [] as number[], immediate: [] as number[], held: [] as number[] };
  const steps: Observed['steps'] = [];
  for (const [i, problem] of problems.entries()) {
    const sampled = { seed: seed + i, temperature };
    const under = (delivery: 'immediate' | 'held') =>
      guarding(arm, sampled.seed, { ...settings, guard: { ...settings.guard, delivery } });
    const ways = {
      unguarded: unguarded(settings.guard, [methodOf(arm.trigger)]),
      immediate: under('immediate'),
      held: under('held'),
    };
    for (const way of ['unguarded', 'immediate', 'held'] as const) {
      const start = performance.now();
      const answer = await answerTask(run, problem, sampled, ways[way]);
      seconds[way].push((performance.now() - start) / 1000);
      if (way === 'held' && answer.kept + answer.replaced === 0) steps.push(...answer.steps);
    }
  }
  const released = steps.flatMap(({ from, to, held }) =>
    held ? [{ beyond: held.tokens - (to - from - 1), ms: held.ms }] : [],
  );
  return {
    answers: problems.length,
    seconds: {
      unguarded: quantilesOf(seconds.unguarded)!,
      immediate: quantilesOf(seconds.immediate)!,
      held: quantilesOf(seconds.held)!,
    },
    steps: released.length,
    tokensBeyond: quantilesOf(released.map(({ beyond }) => beyond)),
    ms: quantilesOf(released.map(({ ms }) => ms)),
  };
}

function quantilesOf(values: readonly number[]): Quantiles | null {
  if (values.length === 0) return null;
  const sorted = [...values];
  return { median: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), max: Math.max(...sorted) };
}
