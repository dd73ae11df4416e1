import type { GenerationRequest, GuardRequest } from 'flinch-client';
import { DEFAULT_METHODS, type Method, PROBABILITY_METHODS } from 'flinch-client/protocol';
import type { Model, PolicyView } from './server/page-models.js';
import { isMethod } from './words.js';

/** What the user has set; an empty text leaves a field to the operator, or to the model. */
export interface Settings {
  readonly sampling: Readonly<Partial<Record<SamplingName, string>>>;
  readonly system: string;
  /** Method to colour by; by default the one that judges. */
  readonly colours: string;
  readonly view: string;
  /** Fields of the guard, by their names. */
  readonly guard: Readonly<Partial<Record<GuardFieldName, string>>>;
}

export const NO_SETTINGS: Settings = {
  sampling: {},
  system: '',
  colours: '',
  view: 'formatted',
  guard: {},
};

/** How tokens are drawn, by the API's names. */
export type SamplingName = keyof Sampling;
export type Sampling = Pick<GenerationRequest, 'temperature' | 'max_completion_tokens' | 'seed' | 'top_p'>;

/** What is special about a question. */
export interface AskTo {
  /** The one that gets another answer; by default the question is a new one. */
  readonly turn?: string;
  /** Id of the model to ask; by default the one that is chosen. */
  readonly model?: string;
  /** In place of the settings. */
  readonly sampling?: Sampling;
}

interface SamplingField {
  readonly name: SamplingName;
  readonly label: string;
  readonly hint: string;
  readonly bounds: Bounds;
  readonly whole?: true;
}

type Bounds = readonly [least: number, most: number];

export const SAMPLING_FIELDS: readonly SamplingField[] = [
  {
    name: 'temperature',
    label: 'Temperature',
    hint: '0 always takes the most probable token.',
    bounds: [0, 2],
  },
  {
    name: 'max_completion_tokens',
    label: 'Max tokens',
    hint: 'The answer is cut off there.',
    bounds: [1, 1e6],
    whole: true,
  },
  {
    name: 'seed',
    label: 'Seed',
    hint: 'The same seed gives the same answer, or nearly.',
    bounds: [0, Number.MAX_SAFE_INTEGER],
    whole: true,
  },
  {
    name: 'top_p',
    label: 'Top-p',
    hint: 'Tokens are drawn from the most probable ones that have this probability together.',
    bounds: [0.01, 1],
  },
];

const ACTIONS = ['annotate', 'stop', 'rollback', 'escalate', 'vote'] as const;

const ACTION_HINTS: Readonly<Record<string, string>> = {
  annotate: 'A flagged step is marked.',
  stop: 'The answer ends at a flagged step.',
  rollback: 'A flagged step is sampled again.',
  escalate: 'If the answer is flagged, or within the budget, the larger model answers instead.',
  vote: 'If the answer is flagged, or within the budget, further ones are drawn, and one that most agree with is shown.',
};

/** Whether a model has an action: `escalate` needs another model. */
export const hasAction = (action: string, { escalatesTo }: Pick<Model, 'escalatesTo'>): boolean =>
  action !== 'escalate' || escalatesTo !== null;

/** What the action in force does, and what it takes to have those that the model lacks. */
export function actionHint(
  settings: Settings,
  model: Pick<Model, 'id' | 'policy' | 'escalatesTo'> | null,
): string {
  const does = ACTION_HINTS[actionOf(settings, model?.policy ?? null)] ?? '';
  if (!model || hasAction('escalate', model)) return does;
  return `${does} escalate needs models.${model.id}.escalate in the server’s configuration.`;
}

export type GuardFieldName = 'action' | 'budget' | 'rate' | 'per' | 'method' | 'delivery' | 'candidates';

/** A field of the guard as the page offers it: the API's name, values and default. */
export interface GuardField {
  readonly name: GuardFieldName;
  readonly label: string;
  readonly hint: string;
  /** Values of a choice; for numbers their bounds. */
  readonly values?: readonly string[];
  readonly bounds?: Bounds;
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
    hint: '',
    values: ACTIONS,
    unset: 'annotate',
  },
  {
    name: 'budget',
    label: 'Budget, %',
    hint: 'The share of all answers that are replaced, the most doubtful ones.',
    bounds: [0.01, 100],
    percent: true,
    unset: 'flagged answers',
    onlyFor: ['escalate', 'vote'],
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
  policy?.locked[name] ?? null;

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
function problemOf(value: string, [least, most]: Bounds, whole = false): string | null {
  if (value === '') return null;
  const number = Number(value);
  const fits = whole ? Number.isInteger(number) : Number.isFinite(number);
  if (fits && number >= least && number <= most) return null;
  return `${whole ? 'a whole number, ' : ''}${least} to ${most}`;
}

/** The values that cannot be used, by the names of their fields, with why. */
export function problemsOf(settings: Settings, policy: PolicyView | null): Readonly<Record<string, string>> {
  const problems = GUARD_FIELDS.flatMap((field) => {
    const { name, bounds } = field;
    if (!bounds || !isOpen(field, settings, policy)) return [];
    const problem = problemOf(settings.guard[name] ?? '', bounds);
    return problem ? [[name, problem] as const] : [];
  });
  const sampling = SAMPLING_FIELDS.flatMap(({ name, bounds, whole }) => {
    const problem = problemOf(settings.sampling[name] ?? '', bounds, whole);
    return problem ? [[name, problem] as const] : [];
  });
  return Object.fromEntries([...sampling, ...problems]);
}

/** The sampling that is asked for: what is set. */
export const samplingRequest = ({ sampling }: Settings): Sampling =>
  Object.fromEntries(
    SAMPLING_FIELDS.flatMap(({ name }) => (sampling[name] ? [[name, Number(sampling[name])] as const] : [])),
  );

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
  const action = ACTIONS.find((known) => known === set('action') && hasAction(known, { escalatesTo }));
  const per = oneOf(set('per'), 'step', 'answer');
  const delivery = oneOf(set('delivery'), 'immediate', 'held');
  return {
    ...(action && { action }),
    ...(per && { per }),
    ...(delivery && { delivery }),
    ...(method && { method }),
    ...(set('budget') !== '' && { budget: Number(set('budget')) / 100 }),
    ...(set('rate') !== '' && { rate: Number(set('rate')) / 100 }),
    ...(set('candidates') !== '' && { candidates: Number(set('candidates')) }),
    // An operator may have left out those that take passes.
    ...(further.length > 0 &&
      !policy?.locked.methods && { methods: [...new Set<Method>([...DEFAULT_METHODS, ...further])] }),
  };
}

type GuardedModel = Pick<Model, 'policy' | 'methods' | 'escalatesTo'>;

const oneOf = <Value extends string>(value: string, ...values: readonly Value[]): Value | undefined =>
  values.find((each) => each === value);
