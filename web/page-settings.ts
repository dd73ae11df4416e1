import type { GuardRequest } from 'flinch-client';
import { DEFAULT_METHODS, type Method, PROBABILITY_METHODS } from 'flinch-client/protocol';
import type { Model, PolicyView } from './server/page-models.js';
import { isMethod } from './words.js';

/** What the user has set; an empty text leaves a field to the operator, or to the model. */
export interface Settings {
  readonly temperature: string;
  readonly system: string;
  /** Method to colour by; by default the one that judges. */
  readonly colours: string;
  readonly view: string;
  /** Fields of the guard, by their names. */
  readonly guard: Readonly<Partial<Record<GuardFieldName, string>>>;
}

export const NO_SETTINGS: Settings = {
  temperature: '',
  system: '',
  colours: '',
  view: 'formatted',
  guard: {},
};

const ACTIONS = ['annotate', 'stop', 'rollback', 'escalate', 'vote'] as const;

/** The actions that a model has: `escalate` needs another model. */
export const actionsOf = (escalatesTo: string | null): readonly (typeof ACTIONS)[number][] =>
  ACTIONS.filter((action) => action !== 'escalate' || escalatesTo !== null);

export type GuardFieldName = 'action' | 'rate' | 'per' | 'method' | 'schedule' | 'delivery' | 'candidates';

/** A field of the guard as the page offers it: the API's name, values and default. */
export interface GuardField {
  readonly name: GuardFieldName;
  readonly label: string;
  readonly hint: string;
  /** Values of a choice; for numbers their bounds. */
  readonly values?: readonly string[];
  readonly bounds?: readonly [least: number, most: number];
  /** In percent of the API's value. */
  readonly percent?: true;
  readonly unset: string;
  /** Whether it has a meaning with this action. */
  readonly onlyFor?: readonly string[];
}

export const GUARD_FIELDS: readonly GuardField[] = [
  {
    name: 'action',
    label: 'Action',
    hint: 'What happens to a flagged step: annotate marks it, stop ends the answer, rollback samples it again. escalate: another model answers in place of a flagged answer. vote: further answers are drawn, and the one that most agree with is shown.',
    values: ACTIONS,
    unset: 'annotate',
  },
  {
    name: 'rate',
    label: 'Rate, %',
    hint: 'The false-alarm rate: the share of ordinary steps or answers that are flagged.',
    bounds: [0.01, 99.9],
    percent: true,
    unset: '2',
  },
  {
    name: 'per',
    label: 'Per',
    hint: 'What the rate is a share of.',
    values: ['step', 'answer'],
    unset: 'step',
  },
  {
    name: 'method',
    label: 'Method',
    hint: 'The score that steps are judged by.',
    values: [],
    unset: 'that of the model',
  },
  {
    name: 'candidates',
    label: 'Candidates',
    hint: 'How many other continuations are sampled; vote: how many further answers, at most.',
    bounds: [1, 16],
    unset: '4',
    onlyFor: ['rollback', 'vote'],
  },
  {
    name: 'schedule',
    label: 'Schedule',
    hint: 'windowed: every token is scored. lazy: only doubtful tokens.',
    values: ['windowed', 'lazy'],
    unset: 'windowed',
  },
  {
    name: 'delivery',
    label: 'Delivery',
    hint: 'immediate: tokens as they are written, which may be taken back. held: whole steps, once they are final.',
    values: ['immediate', 'held'],
    unset: 'immediate',
  },
];

/** The value that an operator's policy gives a field, as the field shows it; `null` if it gives none. */
export function policyValue({ name, percent }: GuardField, policy: PolicyView | null): string | null {
  const value = policy?.defaults[name];
  if (value === undefined) return null;
  return percent ? String(Number((Number(value) * 100).toPrecision(6))) : String(value);
}

/** The policy that locks a field; `null` if none does. */
export const lockOf = ({ name }: GuardField, policy: PolicyView | null): string | null =>
  policy?.locked[name === 'schedule' ? 'scoring' : name] ?? null;

/** The action in force: what is set, or the operator's, or the usual one. */
export function actionOf({ guard }: Settings, policy: PolicyView | null): string {
  const [field] = GUARD_FIELDS;
  const set = field && lockOf(field, policy) === null ? guard.action : '';
  return set || (field && policyValue(field, policy)) || 'annotate';
}

/** Whether a field can be set: it is not locked, and has a meaning with the action. */
export const isOpen = (field: GuardField, settings: Settings, policy: PolicyView | null): boolean =>
  lockOf(field, policy) === null && (field.onlyFor?.includes(actionOf(settings, policy)) ?? true);

/** Why a value cannot be used; `null` if it can. */
function problemOf(value: string, [least, most]: readonly [number, number]): string | null {
  if (value === '') return null;
  const number = Number(value);
  return Number.isFinite(number) && number >= least && number <= most ? null : `${least} to ${most}`;
}

const TEMPERATURES = [0, 2] as const;

/** The values that cannot be used, by the names of their fields, with why. */
export function problemsOf(settings: Settings, policy: PolicyView | null): Readonly<Record<string, string>> {
  const problems = GUARD_FIELDS.flatMap((field) => {
    const { name, bounds } = field;
    if (!bounds || !isOpen(field, settings, policy)) return [];
    const problem = problemOf(settings.guard[name] ?? '', bounds);
    return problem ? [[name, problem] as const] : [];
  });
  const temperature = problemOf(settings.temperature, TEMPERATURES);
  return Object.fromEntries([...problems, ...(temperature ? [['temperature', temperature] as const] : [])]);
}

/** The guard that is asked for: what is set and open, of what the model has. */
export function guardRequest(
  settings: Settings,
  { policy, methods, escalatesTo }: GuardedModel,
): GuardRequest {
  const set = (name: GuardFieldName): string => {
    const field = GUARD_FIELDS.find((each) => each.name === name);
    return field && isOpen(field, settings, policy) ? (settings.guard[name] ?? '') : '';
  };
  const had = (name: string): Method | null =>
    isMethod(name) && (methods?.includes(name) ?? true) ? name : null;
  const method = had(set('method'));
  const further = [method, had(settings.colours)].flatMap((each) =>
    each === null || PROBABILITY_METHODS.some((cheap) => cheap === each) ? [] : [each],
  );
  const actions = actionsOf(escalatesTo);
  const action = actions.find((known) => known === set('action'));
  const per = oneOf(set('per'), 'step', 'answer');
  const delivery = oneOf(set('delivery'), 'immediate', 'held');
  const schedule = oneOf(set('schedule'), 'windowed', 'lazy');
  return {
    ...(action && { action }),
    ...(per && { per }),
    ...(delivery && { delivery }),
    ...(method && { method }),
    ...(set('rate') !== '' && { rate: Number(set('rate')) / 100 }),
    ...(set('candidates') !== '' && { candidates: Number(set('candidates')) }),
    ...(schedule && { scoring: { schedule } }),
    // An operator may have left out those that take passes.
    ...(further.length > 0 &&
      !policy?.locked.methods && { methods: [...new Set<Method>([...DEFAULT_METHODS, ...further])] }),
  };
}

type GuardedModel = Pick<Model, 'policy' | 'methods' | 'escalatesTo'>;

const oneOf = <Value extends string>(value: string, ...values: readonly Value[]): Value | undefined =>
  values.find((each) => each === value);
