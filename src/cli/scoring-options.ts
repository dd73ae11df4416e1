import { type Command, Option } from 'commander';
import type { TokurSettings } from '../numerics/tokur-noise.js';
import type { Schedule } from '../uncertainty/schedule.js';
import {
  checkScoring,
  DEFAULT_ALPHA,
  DEFAULT_BLOCK,
  DEFAULT_EPSILON,
  DEFAULT_RANDOM,
  DEFAULT_TOKUR,
  DEFAULT_WINDOW,
  MAX_ALPHA,
  MAX_SAMPLES,
  MAX_TOKUR_SAMPLES,
  MIN_ALPHA,
  type Scale,
  type Scoring,
  TOKUR_LAWS,
} from '../uncertainty/settings.js';
import { integer, parseSize, parseWindow, real } from './options.js';

/** Options that commands share: how tokens are scored. */
export interface ScoringOptions {
  readonly schedule: Schedule['kind'];
  readonly block: number;
  readonly window?: number | 'all';
  readonly epsilon: number;
  readonly alpha: Scale;
  readonly derivative?: boolean;
  readonly sigma: Scale;
  readonly samples: number;
  readonly tokurSigma: number;
  readonly tokurSamples: number;
  readonly tokurLaw: TokurSettings['law'];
}

/** Adds them, and leaves the group of the measures open. The first of the schedules is the default. */
export function addScoringOptions(command: Command, schedules: readonly Schedule['kind'][]): Command {
  const relative = "0.005rms is relative to the embeddings' RMS";
  return command
    .optionsGroup('Schedule:')
    .addOption(
      new Option('--schedule <kind>', 'which tokens a pass attacks: see below')
        .choices(schedules)
        .default(schedules[0]),
    )
    .option('--block <tokens>', 'new tokens per score pass, at most', integer(1, 65536), DEFAULT_BLOCK)
    .option(
      '--window <positions>',
      `positions that a pass covers, or all (default: ${DEFAULT_WINDOW}, at least the block)`,
      parseWindow,
    )
    .option(
      '--epsilon <number>',
      'lazy: a token is doubtful when 1 − P exceeds it',
      real(0, 1),
      DEFAULT_EPSILON,
    )
    .optionsGroup('Measures:')
    .option('--alpha <size>', `adversarial: size of the perturbation; ${relative}`, parseSize, DEFAULT_ALPHA)
    .option(
      '--sigma <size>',
      `random: standard deviation of the noise; ${relative}`,
      parseSize,
      DEFAULT_RANDOM.sigma,
    )
    .option(
      '--samples <number>',
      'random: draws of the noise',
      integer(2, MAX_SAMPLES),
      DEFAULT_RANDOM.samples,
    )
    .option(
      '--derivative',
      'adversarial, random: the derivative along the perturbation instead of a pass with it',
    )
    .option(
      '--tokur-sigma <number>',
      'tokur_*: standard deviation of the noise on the weights',
      real(MIN_ALPHA, MAX_ALPHA),
      DEFAULT_TOKUR.sigma,
    )
    .option(
      '--tokur-samples <number>',
      'tokur_*: models that are sampled, the unperturbed one among them',
      integer(2, MAX_TOKUR_SAMPLES),
      DEFAULT_TOKUR.samples,
    )
    .addOption(
      new Option('--tokur-law <law>', 'tokur_*: what the noise is drawn for')
        .choices(TOKUR_LAWS)
        .default(DEFAULT_TOKUR.law),
    );
}

export const SCHEDULE_HEADING = 'Schedules of adversarial; the other measures are the same under each:';

export const SCHEDULE_HELP: Readonly<Record<Schedule['kind'], string>> = {
  offline: "  offline      one pass over the finished text attacks all of its tokens: the paper's score",
  windowed:
    '  windowed     a pass for each block of new tokens, over the window before them: what streams get',
  lazy: '  lazy         a pass at once for each doubtful token; the others are marked as skipped',
};

export const MEASURE_HELP = `Measures of a token, natural logarithm; higher is less certain:
  adversarial  fall of log P when the embeddings before it move in the worst direction (Adv. Pert.)
  random       variance of log P under noise on the embeddings (Rand. Pert.): a pass for each sample
  tokur_eu     what the models with noise on their weights disagree about (TokUR, epistemic)
  tokur_tu     entropy of their mean distribution (TokUR, total)
  tokur_au     mean of their entropies (TokUR, aleatoric)
  nll          −log P
  entropy      of the distribution that the token was drawn from
  margin       1 minus its lead over the most probable other token, 0 to 2`;

/** @throws SettingsError that names the field */
export function scoringOf(options: ScoringOptions, methods: Scoring['methods'], seed: number): Scoring {
  const { schedule, block, epsilon, alpha, derivative, sigma, samples } = options;
  const { window = Math.max(DEFAULT_WINDOW, block) } = options;
  const kinds: Readonly<Record<Schedule['kind'], Schedule>> = {
    offline: { kind: 'offline' },
    windowed: { kind: 'windowed', block, window },
    lazy: { kind: 'lazy', block, window, epsilon },
  };
  const scoring: Scoring = {
    methods,
    schedule: kinds[schedule],
    alpha,
    form: derivative ? 'derivative' : 'perturb',
    random: { sigma, samples, seed },
    tokur: { sigma: options.tokurSigma, samples: options.tokurSamples, law: options.tokurLaw, seed },
  };
  checkScoring(scoring);
  return scoring;
}
