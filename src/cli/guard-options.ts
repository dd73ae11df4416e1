import { type Command, InvalidArgumentError, Option } from 'commander';
import { STATISTICS } from '../risk/risk.js';
import {
  ACTIONS,
  CHOICES,
  DEFAULT_GUARD,
  DELIVERIES,
  type Guard,
  MAX_CANDIDATES,
  MAX_ROLLBACKS,
  TARGETS,
} from '../stream/guard.js';
import { METHODS, type Method } from '../uncertainty/method.js';
import { integer, real } from './options.js';

/** Options that commands share: when a step is doubtful, and what is done then. */
export interface GuardOptions extends Omit<Guard, 'method' | 'temperature'> {
  /** `undefined`: what the command takes in its place. */
  readonly method?: Method;
  readonly candidateTemperature?: number;
}

/** Adds them, and leaves their group open. They cannot be given with the command's own `--no-score`. */
export function addGuardOptions(command: Command, defaultMethod: string): Command {
  const options = [
    new Option('--action <name>', 'what is done about a doubtful step: see below')
      .choices(ACTIONS)
      .default(DEFAULT_GUARD.action),
    new Option('--delivery <name>', 'tokens at once, or a step at a time once nothing of it can change')
      .choices(DELIVERIES)
      .default(DEFAULT_GUARD.delivery),
    new Option('--method <name>', `the score that steps are judged by (default: ${defaultMethod})`).choices(
      METHODS,
    ),
    new Option('--per <target>', 'a step is judged by its own risk, or by the largest of its tokens')
      .choices(TARGETS)
      .default(DEFAULT_GUARD.per),
    new Option('--statistic <name>', 'the score of a step: the largest of its tokens, or their mean')
      .choices(STATISTICS)
      .default(DEFAULT_GUARD.statistic),
    new Option(
      '--rate <number>',
      'share of ordinary steps, or tokens, that may be called doubtful: the rate of false alarms',
    )
      .argParser(parseRate)
      .default(DEFAULT_GUARD.rate),
    new Option('--rollback-to <target>', 'rollback: to the start of the step, or to its most doubtful token')
      .choices(TARGETS)
      .default(DEFAULT_GUARD.rollbackTo),
    new Option('--candidates <number>', 'rollback: other continuations that are drawn')
      .argParser(integer(1, MAX_CANDIDATES))
      .default(DEFAULT_GUARD.candidates),
    new Option('--choose <how>', 'rollback: the least uncertain of them, or what most of them say')
      .choices(CHOICES)
      .default(DEFAULT_GUARD.choose),
    new Option(
      '--candidate-temperature <number>',
      'rollback: to draw them at (default: that of the answer)',
    ).argParser(real(0, 2)),
    new Option('--reflection <text>', 'reflect: what is put after the step')
      .argParser(parseReflection)
      .default(DEFAULT_GUARD.reflection, JSON.stringify(DEFAULT_GUARD.reflection)),
    new Option('--max-rollbacks <number>', 'rollback, reflect: most of them in an answer')
      .argParser(integer(0, MAX_ROLLBACKS))
      .default(DEFAULT_GUARD.maxRollbacks),
  ];
  command.optionsGroup('Guard:');
  for (const option of options) command.addOption(option.conflicts('score'));
  return command;
}

export const GUARD_HELP = `Actions on a step whose score is among the highest of ordinary ones (flinch calibrate says what is ordinary):
  annotate     it is marked
  stop         the answer ends there
  rollback     other continuations are drawn from there, and the best of them goes on
  reflect      a request to check it is put after it`;

export function guardOf(options: GuardOptions, defaultMethod: Method): Guard {
  const { method = defaultMethod, per, statistic, rate, delivery, action } = options;
  const { rollbackTo, candidates, choose, candidateTemperature, reflection, maxRollbacks } = options;
  return {
    method,
    per,
    statistic,
    rate,
    delivery,
    action,
    rollbackTo,
    candidates,
    choose,
    ...(candidateTemperature !== undefined && { temperature: candidateTemperature }),
    reflection,
    maxRollbacks,
  };
}

function parseRate(text: string): number {
  const rate = Number(text);
  if (text.trim() === '' || !(rate > 0 && rate < 1)) {
    throw new InvalidArgumentError('Must be more than 0 and less than 1.');
  }
  return rate;
}

function parseReflection(text: string): string {
  if (text === '') throw new InvalidArgumentError('Must not be empty.');
  return text;
}
