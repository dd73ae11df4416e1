import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { DEFAULT_METHODS, type Method } from '../src/uncertainty/method-names.js';
import {
  scoringFields,
  scoringOf as scoringOfFields,
  scoringSchema,
} from '../src/uncertainty/scoring-fields.js';
import { checkScoring, type Scoring } from '../src/uncertainty/settings.js';
import { checked, fieldOption, helpOf } from './field-option.js';
import { parseMethods } from './options.js';

type Settings = Readonly<Record<string, unknown>>;

/** Settings of a command that scores finished texts: only it can score offline. */
const finishedFields = {
  ...scoringFields,
  schedule: z
    .enum(['offline', 'windowed'], { error: 'must be one of offline, windowed' })
    .default('offline')
    .describe(
      "`adversarial`: one pass over the finished text (`offline`, the paper's score), or one per block of new tokens, over the window before them (`windowed`, as in streams).",
    ),
  derivative: z
    .boolean()
    .default(false)
    .describe(
      '`adversarial`: use the derivative along the perturbation, as streams do, instead of a perturbed forward pass.',
    ),
};

type Fields = Readonly<Record<string, z.ZodType>>;

/** Adds the option that says how scores are computed. */
export function addScoringOption(command: Command, { finished }: { readonly finished: boolean }): Command {
  const fields: Fields = finished ? finishedFields : scoringFields;
  const option = new Option(
    '--scoring <name=value,…>',
    'how the scores are computed (see settings of --scoring); can be repeated',
  ).argParser((text, before?: Settings) => ({ ...before, ...settingsIn(text, fields) }));
  return command
    .addOption(finished ? option.default({ schedule: 'offline' }, 'schedule=offline') : option)
    .addHelpText('after', `\n${scoringHelp(fields)}`);
}

/** @throws InvalidArgumentError that names the setting */
function settingsIn(text: string, fields: Fields): Settings {
  const settings = text.split(',').map((each): [string, unknown] => {
    const [name = '', value = 'true', ...more] = each.split('=').map((part) => part.trim());
    const field = new Map(Object.entries(fields)).get(name);
    const names = Object.keys(fields).join(', ');
    if (!field) throw new InvalidArgumentError(`${name || 'a name'} is none of ${names}.`);
    if (more.length > 0) throw new InvalidArgumentError(`${name} has two values.`);
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

function scoringHelp(fields: Fields): string {
  const settings = Object.entries(fields).map(([name, field]) => `  ${name.padEnd(13)}  ${helpOf(field)}`);
  return ['Settings of --scoring:', ...settings].join('\n');
}

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
 * The settings that the options give.
 * @throws SettingsError that names the field
 */
export function scoringOf(
  { scoring: { schedule, derivative, ...settings } = {} }: { readonly scoring?: Settings | undefined },
  methods: readonly Method[],
  seed: number,
): Scoring {
  const streamed = scoringOfFields(methods, scoringSchema.parse(settings), seed);
  const scoring: Scoring = {
    ...streamed,
    ...(schedule === 'offline' && { schedule: { kind: 'offline' } }),
    ...(schedule !== undefined && !derivative && { form: 'perturb' as const }),
  };
  checkScoring(scoring);
  return scoring;
}
