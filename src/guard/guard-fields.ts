import { z } from 'zod';
import { DEFAULT_METHODS, type Method } from '../uncertainty/method-names.js';
import { integer, method, methods, scoringSchema } from '../uncertainty/scoring-fields.js';
import { type Scoring, SettingsError } from '../uncertainty/settings.js';
import {
  ACTIONS,
  DEFAULT_GUARD,
  DELIVERIES,
  type Guard,
  LAGS,
  RATED,
  replacesAnswers,
  retracts,
} from './guard.js';

const rate = 'must be a number above 0 and below 1';
const budget = 'must be a number above 0 and at most 1';

/** The fields of the library's {@link Guard}, named as requests and the command line name them. */
const judgingFields = {
  method: method
    .optional()
    .describe(
      `Score that steps are judged by (default: the one that the calibration of the model names, or else \`${DEFAULT_GUARD.method}\`, if it is one of \`methods\`, otherwise the first of them).`,
    ),
  per: z
    .enum(RATED)
    .default(DEFAULT_GUARD.per)
    .describe(
      'What `rate` is a share of: of steps (`step`), or of answers with a flagged step (`answer`, which needs a calibration with whole answers).',
    ),
  rate: z
    .number({ error: rate })
    .gt(0, { error: rate })
    .lt(1, { error: rate })
    .default(DEFAULT_GUARD.rate)
    .describe(
      'Target false-alarm rate of steps or answers (`per`): a risk of at least 1 − `rate` is flagged.',
    ),
  delivery: z
    .enum(DELIVERIES)
    .default(DEFAULT_GUARD.delivery)
    .describe(
      'Tokens are sent at once (`immediate`), or in whole steps once they are settled (`held`); `rollback` is always `held` where nothing can be taken back: Server-Sent Events, whole responses, terminals.',
    ),
  lag: z
    .enum(LAGS)
    .optional()
    .describe(
      'What happens if scoring is slower than writing: the text waits for its scores (`wait`), or whole blocks are not scored, the most certain first (`skip`, which `held` and `rollback` do not allow) (default: `skip` for a model with upstreams and a scorer, where it is allowed, otherwise `wait`).',
    ),
  action: z
    .enum(ACTIONS)
    .default(DEFAULT_GUARD.action)
    .describe(
      'What happens to a flagged step: it is marked (`annotate`), the response ends (`stop`), or the step is sampled again (`rollback`); or another model answers in place of a flagged answer (`escalate`, in a gateway whose model names one), or further answers are drawn, of which the one that most agree with is returned (`vote`, in a gateway).',
    ),
  candidates: integer(1, 16)
    .default(DEFAULT_GUARD.candidates)
    .describe(
      '`rollback`: number of continuations sampled in addition to the flagged one, of which what most say is kept; `vote`: maximum number of further answers.',
    ),
  max_rollbacks: integer(0, 64)
    .default(DEFAULT_GUARD.maxRollbacks)
    .describe('`rollback`: maximum number of them in a response; steps flagged later are only marked.'),
};

/**
 * The guard's fields, once for all: requests, the command line, the client's types and docs/reference follow from them.
 * How they fit together is checked by {@link checkGuard} and `checkScoring`.
 */
export const guardFields = {
  enabled: z
    .boolean()
    .default(true)
    .describe('Score the tokens and judge the steps; if false, all other fields are ignored.'),
  methods: methods
    .optional()
    .describe(
      `Scores computed for each token (default: ${DEFAULT_METHODS.map((name) => `\`${name}\``).join(', ')}, as far as the model can compute them, and \`method\`).`,
    ),
  scoring: scoringSchema.prefault({}).describe('How the scores are computed.'),
  ...judgingFields,
  budget: z
    .number({ error: budget })
    .gt(0, { error: budget })
    .lte(1, { error: budget })
    .optional()
    .describe(
      '`escalate`, `vote`: share of all answers that are replaced, the most doubtful of the last ones (default: the answers whose verdict is flagged).',
    ),
};

export type GuardFieldName = keyof typeof guardFields;

/** Guard settings in the ranges of the engine; every field has a default. */
export const guardSchema = z.strictObject(guardFields);

/** Guard settings of a request. */
export type GuardFields = z.output<typeof guardSchema>;

/** Guard settings with the methods, which depend on the model. */
export interface CompleteGuardFields extends GuardFields {
  readonly methods: Method[];
  readonly method: Method;
}

/**
 * The library's guard.
 * @param canRetract whether tokens that were sent can be taken back; otherwise they are held until they are settled
 * @param lag default for fields without `lag`, if no step waits for its verdict
 */
export function guardOf(
  fields: CompleteGuardFields,
  canRetract: boolean,
  lag: Guard['lag'] = DEFAULT_GUARD.lag,
): Guard {
  const { method, per, rate, action, candidates } = fields;
  const delivery = retracts(action) && !canRetract ? 'held' : fields.delivery;
  return {
    method,
    per,
    rate,
    delivery,
    lag: fields.lag ?? (awaitsVerdicts({ action, delivery }) ? 'wait' : lag),
    action,
    candidates,
    maxRollbacks: fields.max_rollbacks,
  };
}

/** `max_rollbacks` is `maxRollbacks` in the library and among the options of a command. */
export const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** @throws SettingsError that names the field */
export function checkGuard(guard: Guard, { methods, schedule }: Scoring): void {
  if (!methods.includes(guard.method)) {
    throw new SettingsError('method', `${guard.method} is not among the methods`);
  }
  if (schedule.kind === 'offline') {
    throw new SettingsError('schedule', 'offline has no scores before the response has ended');
  }
  if (replacesAnswers(guard.action)) {
    const model = guard.action === 'escalate' ? ', with a model that names another one' : '';
    throw new SettingsError('action', `${guard.action} needs a gateway${model}`);
  }
  if (guard.lag === 'skip' && awaitsVerdicts(guard)) {
    const waits = retracts(guard.action) ? `action ${guard.action}` : 'held delivery';
    throw new SettingsError('lag', `skip is not possible with ${waits}, which waits for the scores`);
  }
  const values = new Map<string, unknown>(Object.entries(guard));
  for (const [name, field] of Object.entries(judgingFields)) {
    const property = camelCase(name);
    const [issue] = field.safeParse(values.get(property)).error?.issues ?? [];
    if (issue) throw new SettingsError(property, issue.message);
  }
}

/** Whether text waits for the verdicts on its steps, and with them for all scores. */
const awaitsVerdicts = ({ action, delivery }: Pick<Guard, 'action' | 'delivery'>): boolean =>
  retracts(action) || delivery === 'held';
