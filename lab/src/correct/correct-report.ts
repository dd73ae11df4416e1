import { percent, table } from '#bench/markdown-table.js';
import type { Estimate } from '#bench/statistics/estimate.js';
import type { Guard } from '#src/guard/guard.js';
import type { Comparison, Row } from './comparison.js';
import type { Delays, Quantiles } from './delays.js';

/** Results of a run of `npm run lab -- correct`. */
export interface CorrectReport {
  readonly command: string;
  readonly model: string;
  readonly precision: string;
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string };
  readonly suite: string;
  readonly problems: number;
  readonly seed: number;
  readonly temperature: number;
  readonly guard: Guard;
  /** Share of the steps, or tokens, of the unguarded answers that each measure flags, and that chance is given. */
  readonly flagged: Readonly<Record<string, number>>;
  /**
   * Rows of the arms: compared with no guard, with chance, and with votes at each temperature for as many
   * tokens.
   */
  readonly guarded: readonly Row[];
  /**
   * Rows at each temperature, of votes among more and more answers; the first are the answers that the arms
   * begin with.
   */
  readonly unguarded: readonly { readonly temperature: number; readonly rungs: readonly Row[] }[];
  /** Results of each method, for each problem: 1 for right, and the tokens. */
  readonly outcomes: readonly {
    readonly name: string;
    readonly right: string;
    readonly tokens: readonly number[];
  }[];
  /** Accuracies by family, of the unguarded answers and of each arm. */
  readonly families: readonly {
    readonly subset: string;
    readonly problems: number;
    readonly accuracy: Readonly<Record<string, number>>;
  }[];
  readonly delays: Delays | null;
}

export function formatCorrect(report: CorrectReport): string {
  const names = Object.keys(report.families[0]?.accuracy ?? {});
  return [
    `${report.suite}, ${report.problems} problems, T = ${report.temperature}, seeds from ${report.seed}; ${report.machine.cpu}, ${report.machine.cores} cores`,
    `Flagged ${report.guard.actOn === 'step' ? 'steps' : 'tokens'}: ${Object.entries(report.flagged)
      .map(([name, share]) => `${name} ${(100 * share).toFixed(1)} %`)
      .join(', ')}`,
    table(
      [
        'flagged by, then',
        'right [95 %]',
        'tokens',
        'kept',
        'replaced',
        'against no guard',
        'p',
        'against chance',
        'p',
        'against the best for as many tokens',
        'which',
        'p',
      ],
      [...report.unguarded.flatMap(({ rungs }) => rungs), ...report.guarded].map((row) => {
        const [none, ...others] = row.comparisons;
        const chance = others.find(({ with: name }) => name.startsWith('chance'));
        const best = hardest(others.filter((other) => other !== chance));
        const [difference, p] = cells(best);
        return [
          row.name,
          share(row.accuracy),
          row.tokensPerProblem.toFixed(0),
          ...(others.length > 0 ? [String(row.kept), String(row.replaced)] : ['', '']),
          ...cells(none),
          ...cells(chance),
          ...[difference, best?.with ?? '', p],
        ];
      }),
    ),
    table(
      ['family', 'problems', ...names],
      report.families.map(({ subset, problems, accuracy }) => [
        subset,
        String(problems),
        ...names.map((name) => percent(accuracy[name] ?? Number.NaN)),
      ]),
    ),
    ...(report.delays ? [formatDelays(report.delays)] : []),
  ].join('\n\n');
}

function formatDelays({ answers, seconds, steps, tokensBeyond, ms }: Delays): string {
  const row = (name: string, quantiles: Quantiles | null, digits = 0): string[] => [
    name,
    ...(quantiles
      ? [quantiles.median, quantiles.p95, quantiles.max].map((value) => value.toFixed(digits))
      : ['', '', '']),
  ];
  return [
    `Time, ${answers} answers one after the other; held: ${steps} steps of answers without a rollback`,
    table(
      ['', 'median', '95 %', 'largest'],
      [
        row('seconds per answer, unguarded', seconds.unguarded, 2),
        row('corrected, immediate', seconds.immediate, 2),
        row('corrected, held', seconds.held, 2),
        row('held: tokens beyond the step', tokensBeyond),
        row('held: ms from its first token', ms),
      ],
    ),
  ].join('\n\n');
}

/** The way that leaves least to gain. */
const hardest = (comparisons: readonly Comparison[]): Comparison | undefined =>
  comparisons.toSorted((a, b) => a.difference.value - b.difference.value)[0];

const points = (value: number): string => `${value > 0 ? '+' : ''}${(100 * value).toFixed(1)}`;

function share({ value, interval }: Estimate): string {
  const [low, high] = interval ?? [Number.NaN, Number.NaN];
  return `${(100 * value).toFixed(1)} % [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`;
}

function cells(comparison: Comparison | undefined): [string, string] {
  if (!comparison) return ['', ''];
  const { difference, gained, lost, p } = comparison;
  const [low, high] = difference.interval ?? [Number.NaN, Number.NaN];
  const value = `${points(difference.value)} [${points(low)}, ${points(high)}] (+${gained} −${lost})`;
  return [value, p < 0.001 ? p.toExponential(0) : p.toFixed(3)];
}
