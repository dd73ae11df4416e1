import { percent, table } from '../report.js';
import type { Estimate } from '../statistics/estimate.js';
import type { Comparison, Row } from './comparison.js';

/** What a run of `flinch bench correct` found. */
export interface CorrectReport {
  readonly command: string;
  readonly model: string;
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string };
  readonly problems: number;
  readonly seed: number;
  readonly temperature: number;
  readonly guard: object;
  /** Steps of the unguarded answers that each measure flags, and that chance is given. */
  readonly flagged: Readonly<Record<string, number>>;
  readonly rows: readonly Row[];
  /** By family, of the unguarded answers and of the main arm. */
  readonly families: readonly {
    readonly task: string;
    readonly problems: number;
    readonly accuracy: Readonly<Record<string, number>>;
  }[];
  readonly held: HeldDelay | null;
}

/** From a step's first token to its release. */
export interface HeldDelay {
  readonly steps: number;
  /** Beyond the step itself: tokens that had been written after its end. */
  readonly tokensBeyond: Quantiles;
  readonly ms: Quantiles;
  /** To write the same tokens without holding them. */
  readonly rolledBack: number;
}

export interface Quantiles {
  readonly median: number;
  readonly p95: number;
  readonly max: number;
}

export function formatCorrect(report: CorrectReport): string {
  const names = report.rows[0] ? Object.keys(report.families[0]?.accuracy ?? {}) : [];
  return [
    `${report.problems} problems, T = ${report.temperature}, seeds from ${report.seed}; ${report.machine.cpu}, ${report.machine.cores} cores`,
    `Flagged steps: ${Object.entries(report.flagged)
      .map(([name, share]) => `${name} ${(100 * share).toFixed(1)} %`)
      .join(', ')}`,
    table(
      [
        'flagged by, then',
        'right [95 %]',
        'tokens',
        'against no guard',
        'p',
        'against chance',
        'p',
        'against same tokens',
        'p',
      ],
      report.rows.map((row) => [
        row.name,
        share(row.accuracy),
        row.tokensPerProblem.toFixed(0),
        ...['no guard', 'chance', 'budget'].flatMap((other) =>
          cells(row.comparisons.find((comparison) => comparison.with.startsWith(other))),
        ),
      ]),
    ),
    table(
      ['family', 'problems', ...names],
      report.families.map(({ task, problems, accuracy }) => [
        task,
        String(problems),
        ...names.map((name) => percent(accuracy[name] ?? Number.NaN)),
      ]),
    ),
    ...(report.held ? [formatHeld(report.held)] : []),
  ].join('\n\n');
}

function formatHeld({ steps, tokensBeyond, ms, rolledBack }: HeldDelay): string {
  const row = (name: string, { median, p95, max }: Quantiles): string[] => [
    name,
    median.toFixed(0),
    p95.toFixed(0),
    max.toFixed(0),
  ];
  return [
    `Held delivery, one answer at a time: ${steps} steps that were not rolled back (${rolledBack} were)`,
    table(
      ['', 'median', '95 %', 'largest'],
      [row('tokens beyond the step', tokensBeyond), row('ms from its first token', ms)],
    ),
  ].join('\n\n');
}

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
