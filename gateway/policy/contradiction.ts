import { replacesAnswers } from '../../src/guard/guard.js';
import { checkGuard, guardOf } from '../../src/guard/guard-fields.js';
import { METHODS, type Method, PROBABILITY_METHODS } from '../../src/uncertainty/method-names.js';
import { scoringOf } from '../../src/uncertainty/scoring-fields.js';
import { checkScoring } from '../../src/uncertainty/settings.js';
import { toApiError } from '../errors/api-error.js';
import { type AskedGuard, completeGuard, guardSchema } from '../requests/guard-limits.js';
import {
  boundExceeded,
  inPlaceOf,
  type Level,
  mergedPolicy,
  type OperatorPolicy,
} from './operator-policy.js';
import {
  type Escalation,
  gatewayLevel,
  type KeyWithPolicy,
  keyLevel,
  type ModelWithPolicy,
  modelLevel,
  type PolicySources,
} from './policies.js';

export interface Contradiction {
  /** Path of the field at fault, in the configuration. */
  readonly path: readonly PropertyKey[];
  readonly problem: string;
}

interface Source extends ModelWithPolicy {
  /** Servers of a model that other servers run. */
  readonly upstreams?: unknown;
  readonly scorer?: unknown;
}

/**
 * Finds policies that no request could satisfy: a default beyond a bound, settings that do not go together. Policies
 * of gateway, model and key are checked together, once for each that differs.
 */
export function contradictionIn(
  sources: PolicySources & { readonly models?: Readonly<Record<string, Source>> | undefined },
): Contradiction | null {
  const gateway = gatewayLevel(sources.guard);
  const { models: byName = {} } = sources;
  // Many keys have the same policy, and so have models.
  const keys = distinct(
    [[], ...sources.access.keys.map((key: KeyWithPolicy, i) => keyLevel(i, key))],
    configsOf,
  );
  const cases = distinct(
    [
      { levels: [], available: METHODS, model: null },
      ...Object.entries(byName).map(([name, model]) => ({
        model: { name, escalate: model.escalate },
        levels: modelLevel(name, model),
        available: availableTo(model),
      })),
    ],
    ({ levels, available, model }) => [configsOf(levels), available, model && (model.escalate ?? null)],
  );
  for (const { levels, available, model } of cases) {
    for (const key of keys) {
      const all = [...gateway, ...levels, ...key];
      const found = contradictionOf(all, available) ?? unreplaced(all, model);
      if (found) return found;
      const { to } = model?.escalate ?? {};
      const other = to !== undefined && Object.hasOwn(byName, to) ? byName[to] : undefined;
      if (!model || to === undefined || !other) continue;
      const others = [...gateway, ...modelLevel(to, other), ...key];
      const problem = unkept(mergedPolicy(all), mergedPolicy(others), availableTo(other));
      if (problem !== null)
        return { path: ['models', model.name, 'escalate', 'to'], problem: `${to} cannot keep ${problem}` };
    }
  }
  return null;
}

const configsOf = (levels: readonly Level[]): unknown => levels.map(({ config }) => config);

/** The first of each that say the same. */
const distinct = <T>(all: readonly T[], says: (one: T) => unknown): T[] =>
  [...new Map(all.map((one) => [JSON.stringify(says(one)), one] as const).reverse()).values()].reverse();

const availableTo = ({ upstreams, scorer }: Source): readonly Method[] =>
  upstreams !== undefined && scorer === undefined ? PROBABILITY_METHODS : METHODS;

/** What a model that answers in place of another one cannot keep of the policy of the request, or `null`. */
function unkept(
  first: OperatorPolicy | null,
  own: OperatorPolicy | null,
  available: readonly Method[],
): string | null {
  if (first?.defaults.action !== 'escalate') return null;
  const found = misfit(inPlaceOf(first, own)?.defaults ?? {}, available);
  return found && `what the policy ${first.name} locks: ${found.field}: ${found.problem}`;
}

function contradictionOf(levels: readonly Level[], available: readonly Method[]): Contradiction | null {
  const policy = mergedPolicy(levels);
  if (!policy) return null;
  const guard = guardSchema.parse(policy.defaults);
  const exceeded = boundExceeded(guard, policy.bounds);
  if (exceeded) {
    const { field, value, words, bound, limit, policy: other } = exceeded;
    const problem = `${value} is ${words} ${limit}, which is bounds.${bound} of the policy ${other}`;
    return { path: pathOf(field, levels), problem };
  }
  return unfit(policy.defaults, levels, available) ?? loose(policy, levels);
}

/**
 * Settings with which no answer can be replaced.
 * @param model the model that they are for, or `null` for any
 */
function unreplaced(
  levels: readonly Level[],
  model: { readonly name: string; readonly escalate: Escalation | undefined } | null,
): Contradiction | null {
  if (!model || model.escalate || mergedPolicy(levels)?.defaults.action !== 'escalate') return null;
  const problem = `escalate: the model ${model.name} has no field escalate`;
  return { path: pathOf('action', levels), problem };
}

/** Settings that a model would refuse. */
function unfit(
  defaults: AskedGuard,
  levels: readonly Level[],
  available: readonly Method[],
): Contradiction | null {
  const found = misfit(defaults, available);
  return found && { path: pathOf(found.field, levels), problem: found.problem };
}

function misfit(
  defaults: AskedGuard,
  available: readonly Method[],
): { readonly field: string; readonly problem: string } | null {
  const fields = guardSchema.parse(defaults);
  if (!fields.enabled) return null;
  try {
    const guard = completeGuard(fields, available);
    const scoring = scoringOf(guard.methods, guard.scoring);
    checkScoring(scoring);
    // The gateway acts on whole answers, of which every step is marked.
    const action = replacesAnswers(guard.action) ? 'annotate' : guard.action;
    checkGuard(guardOf({ ...guard, action }, false), scoring);
    return null;
  } catch (error) {
    const { message, param } = toApiError(error).body;
    if (param === null) throw error;
    return { field: param.replace(/^guard\./, ''), problem: message.slice(`${param}: `.length) };
  }
}

/** `method` follows from `methods` unless it is set: a lock of it alone would hold nothing. */
function loose({ defaults, locked }: OperatorPolicy, levels: readonly Level[]): Contradiction | null {
  if (!locked.has('method') || locked.has('methods') || defaults.method !== undefined) return null;
  const level = levels.findLast(({ config }) => config.locked.includes('method'));
  const problem = 'method follows from methods: lock methods too, or set method in defaults';
  return { path: [...(level?.path ?? []), 'locked'], problem };
}

/** Path at which a default is set; the last level that sets it is in force. */
function pathOf(field: string, levels: readonly Level[]): readonly PropertyKey[] {
  const [name = '', part] = field.split('.');
  const level = levels.findLast(({ config: { defaults } }) =>
    part === undefined ? Object.hasOwn(defaults, name) : Object.hasOwn(defaults.scoring ?? {}, part),
  );
  if (level) return [...level.path, 'defaults', ...field.split('.')];
  return levels.at(-1)?.path ?? [];
}
