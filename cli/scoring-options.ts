import type { Command, Option } from 'commander';
import { guardSchema } from '../src/guard/guard-fields.js';
import { DEFAULT_METHODS, type Method } from '../src/uncertainty/method-names.js';
import type { Schedule } from '../src/uncertainty/schedule.js';
import { scoringOf as scoringOfFields } from '../src/uncertainty/scoring-fields.js';
import { checkScoring, type Scoring } from '../src/uncertainty/settings.js';
import { fieldOption, fieldsOf } from './field-option.js';
import { parseMethods } from './options.js';

/** Adds the options that say how tokens are scored. The first of the schedules is the default. */
export function addScoringOptions(command: Command, schedules: readonly Schedule['kind'][]): Command {
  const groups = {
    'Schedule:': [
      fieldOption('schedule', '<kind>').choices(schedules).default(schedules[0]),
      fieldOption('block', '<tokens>'),
      fieldOption('window', '<positions>'),
      fieldOption('epsilon', '<number>'),
    ],
    'Methods:': [
      fieldOption('alpha', '<size>'),
      fieldOption('sigma', '<size>'),
      fieldOption('samples', '<number>'),
      fieldOption('derivative', null),
      fieldOption('tokur_sigma', '<number>'),
      fieldOption('tokur_samples', '<number>'),
      fieldOption('tokur_law', '<law>'),
    ],
  };
  for (const [heading, options] of Object.entries(groups)) {
    command.optionsGroup(heading);
    for (const option of options) command.addOption(option);
  }
  return command;
}

export const methodsOption = (): Option =>
  fieldOption('methods', '<names>', null)
    .argParser(parseMethods)
    .default([...DEFAULT_METHODS], DEFAULT_METHODS.join(','));

export const SCHEDULE_HEADING = 'Schedules of adversarial; the other methods are the same under each:';

export const SCHEDULE_HELP: Readonly<Record<Schedule['kind'], string>> = {
  offline: "  offline      one pass over the finished text perturbs all of it at once: the paper's score",
  windowed: '  windowed     one pass per block of new tokens, over the window before them, as in streams',
  lazy: '  lazy         one pass at once per doubtful token; the other tokens are marked as skipped',
};

export const METHOD_HELP = `Methods, with natural logarithms; a higher score is less certain:
  adversarial  fall of log P when the preceding embeddings move in the worst direction (Adv. Pert.)
  random       variance of log P under noise on the embeddings (Rand. Pert.); one pass per sample
  tokur_eu     disagreement of the models with noise on their weights (TokUR, epistemic)
  tokur_tu     entropy of their mean distribution (TokUR, total)
  tokur_au     mean of their entropies (TokUR, aleatoric)
  nll          −log P
  entropy      entropy of the distribution that the token was sampled from
  margin       1 minus the lead over the most probable other token, 0 to 2`;

/**
 * The settings that the options give. `offline` is a schedule of the command line alone.
 * @throws SettingsError that names the field
 */
export function scoringOf(
  { schedule, ...options }: { readonly schedule: Schedule['kind'] },
  methods: Method[],
  seed: number,
): Scoring {
  const offline = schedule === 'offline';
  const fields = guardSchema.parse(fieldsOf(offline ? options : { ...options, schedule }));
  const scoring = scoringOfFields({ ...fields, methods }, seed);
  const settings: Scoring = offline ? { ...scoring, schedule: { kind: 'offline' } } : scoring;
  checkScoring(settings);
  return settings;
}
