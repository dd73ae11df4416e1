import { type Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_METHODS, type Method } from '../src/uncertainty/method-names.js';
import type { Schedule } from '../src/uncertainty/schedule.js';
import {
  scoringFields,
  scoringOf as scoringOfFields,
  scoringSchema,
} from '../src/uncertainty/scoring-fields.js';
import { checkScoring, type Scoring } from '../src/uncertainty/settings.js';
import { checked, fieldOption, helpOf } from './field-option.js';
import { parseMethods } from './options.js';

type Settings = Readonly<Record<string, unknown>>;

/** Adds the option that says how scores are computed. The first of the schedules is the default. */
export function addScoringOption(command: Command, schedules: readonly Schedule['kind'][]): Command {
  const [schedule] = schedules;
  return command
    .addOption(
      new Option(
        '--scoring <name=value,…>',
        'how the scores are computed (see settings of --scoring); can be repeated',
      )
        .argParser((text, before: Settings) => ({ ...before, ...settingsIn(text, schedules) }))
        .default({ schedule }, `schedule=${schedule}`),
    )
    .addHelpText('after', `\n${scoringHelp(schedules)}`);
}

/** @throws InvalidArgumentError that names the setting */
function settingsIn(text: string, schedules: readonly string[]): Settings {
  const settings = text.split(',').map((each): [string, unknown] => {
    const [name = '', value = 'true', ...more] = each.split('=').map((part) => part.trim());
    const field = new Map(Object.entries(scoringFields)).get(name);
    if (!field) throw new InvalidArgumentError(`${name || 'a name'} is none of ${NAMES.join(', ')}.`);
    if (more.length > 0) throw new InvalidArgumentError(`${name} has two values.`);
    if (name === 'schedule' && !schedules.includes(value))
      throw new InvalidArgumentError(`schedule: Must be one of ${schedules.join(', ')}.`);
    if (name === 'schedule') return [name, value];
    try {
      return [name, checked(field, value)];
    } catch (error) {
      throw error instanceof InvalidArgumentError
        ? new InvalidArgumentError(`${name}: ${error.message}`)
        : error;
    }
  });
  return Object.fromEntries(settings);
}

const NAMES = Object.keys(scoringFields);

function scoringHelp(schedules: readonly Schedule['kind'][]): string {
  const item = (name: string, meaning: string): string => `  ${name.padEnd(13)}  ${meaning}`;
  const settings = Object.entries(scoringFields).map(([name, field]) => item(name, helpOf(field)));
  const kinds = schedules.map((kind) => item(kind, SCHEDULES[kind]));
  return [
    ...['Settings of --scoring:', ...settings, ''],
    ...['Schedules of adversarial; the other methods are the same under each:', ...kinds],
  ].join('\n');
}

const SCHEDULES: Readonly<Record<Schedule['kind'], string>> = {
  offline: "one pass over the finished text perturbs all of it at once: the paper's score",
  windowed: 'one pass per block of new tokens, over the window before them, as in streams',
  lazy: 'one pass per block with a doubtful token, for these tokens; the others are marked as skipped',
};

export const methodsOption = (): Option =>
  fieldOption('methods', '<names>', null)
    .argParser(parseMethods)
    .default([...DEFAULT_METHODS], DEFAULT_METHODS.join(','));

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
  { scoring: { schedule, ...settings } }: { readonly scoring: Settings },
  methods: readonly Method[],
  seed: number,
): Scoring {
  const offline = schedule === 'offline';
  const fields = scoringSchema.parse(offline ? settings : { ...settings, schedule });
  const scoring = scoringOfFields(methods, fields, seed);
  const whole: Scoring = offline ? { ...scoring, schedule: { kind: 'offline' } } : scoring;
  checkScoring(whole);
  return whole;
}
