import { isDeepStrictEqual } from 'node:util';
import { show } from '../../src/files/file-errors.js';
import type { GuardFieldName } from '../../src/guard/guard-fields.js';
import { ApiError } from '../errors/api-error.js';
import { type AskedGuard, askedGuardSchema, guardSchema } from '../requests/guard-limits.js';
import type { PolicyConfig } from './policy-schema.js';

/** A policy of one place of the configuration. */
export interface Level {
  readonly name: string;
  /** Path of the policy: `['models', 'm', 'guard']`. */
  readonly path: readonly PropertyKey[];
  readonly config: PolicyConfig;
}

type BoundName = keyof PolicyConfig['bounds'];

export interface Bound {
  readonly bound: BoundName;
  readonly limit: number;
  /** Name of the policy that sets it. */
  readonly policy: string;
}

/** Policy in force for a request: the policies of gateway, model and key together. */
export interface OperatorPolicy {
  /** Name of the most specific of them. */
  readonly name: string;
  readonly defaults: AskedGuard;
  /** Each locked field, with the name of the policy that locks it. */
  readonly locked: ReadonlyMap<GuardFieldName, string>;
  readonly bounds: readonly Bound[];
  /** Whether text that nothing scores is refused. */
  readonly unscored: 'refuse' | 'pass';
  /** Whether unknown fields and routes are kept from servers: they might be a way past the guard. */
  readonly closed: boolean;
}

/** Bounds by name: the field, and which of two values is further inside. */
export const BOUNDS = {
  min_rate: { field: 'rate', within: Math.max, words: 'below' },
  max_rollbacks: { field: 'max_rollbacks', within: Math.min, words: 'above' },
  max_candidates: { field: 'candidates', within: Math.min, words: 'above' },
} as const satisfies Record<
  BoundName,
  {
    readonly field: GuardFieldName;
    readonly within: (value: number, limit: number) => number;
    readonly words: string;
  }
>;

type BoundFields = Readonly<Record<(typeof BOUNDS)[BoundName]['field'], number>>;

/** Values of fields that are not set. */
const UNSET = guardSchema.parse({});

const BOUND_NAMES = ['min_rate', 'max_rollbacks', 'max_candidates'] as const satisfies readonly BoundName[];

/**
 * Later levels override the defaults and `unscored` of earlier ones, field by field; locks and bounds add up.
 * @param levels gateway, model, key, as far as they have a policy
 * @returns `null` without any
 */
export function mergedPolicy(levels: readonly Level[]): OperatorPolicy | null {
  const last = levels.at(-1);
  if (!last) return null;
  const bounds = levels.flatMap(({ name, config }) =>
    BOUND_NAMES.flatMap((bound): Bound[] => {
      const limit = config.bounds[bound];
      return limit === undefined ? [] : [{ bound, limit, policy: name }];
    }),
  );
  const locked = new Map(
    levels.flatMap(({ name, config }) => config.locked.map((field) => [field, name] as const)),
  );
  const said = levels.findLast(({ config }) => config.unscored !== undefined)?.config.unscored;
  const kept = locked.has('enabled') || locked.has('action');
  return {
    name: last.name,
    defaults: levels.map(({ config }) => config.defaults).reduce(overridden, nearestWithin(UNSET, bounds)),
    locked,
    bounds,
    unscored: said ?? (kept ? 'refuse' : 'pass'),
    closed: said === 'refuse' || (said === undefined && locked.size > 0),
  };
}

/**
 * Policy of another model's answer in place of one: all that the request's policy promises holds for whatever the client
 * gets. Of values the policy that locks them decides, and where both do, the other model's; of limits the stricter one.
 * @param first the request's policy
 * @param own the one that requests to the other model have
 */
export function inPlaceOf(first: OperatorPolicy | null, own: OperatorPolicy | null): OperatorPolicy | null {
  if (!first) return own;
  const { name, defaults: owned, locked, bounds, unscored, closed } = own ?? { ...UNBOUND, name: first.name };
  const together = [...first.bounds, ...bounds];
  const defaults = new Map<string, unknown>(Object.entries(owned));
  for (const field of first.locked.keys()) {
    // Of the action on the answer in its place the other model's own policy decides.
    if (field === 'action' || locked.has(field)) continue;
    if (Object.hasOwn(first.defaults, field)) defaults.set(field, first.defaults[field]);
    else defaults.delete(field);
  }
  // Only an answer that is judged is replaced, so the request's guard is on.
  if (first.unscored === 'refuse' || first.locked.has('enabled')) defaults.delete('enabled');
  const asked = askedGuardSchema.parse(Object.fromEntries(defaults));
  return {
    name,
    defaults: { ...asked, ...nearestWithin(guardSchema.parse(asked), together) },
    locked: new Map([...first.locked, ...locked]),
    bounds: together,
    unscored: first.unscored === 'refuse' ? 'refuse' : unscored,
    closed: first.closed || closed,
  };
}

const UNBOUND = { defaults: {}, locked: new Map(), bounds: [], unscored: 'pass', closed: false } as const;

/** Settings of scores are overridden one by one, too. */
const overridden = (guard: AskedGuard, by: AskedGuard): AskedGuard => ({
  ...guard,
  ...by,
  ...(guard.scoring && by.scoring && { scoring: { ...guard.scoring, ...by.scoring } }),
});

/** The strictest of each bound. */
export function limitsOf(bounds: readonly Bound[]): Partial<Record<BoundName, number>> {
  const limits: Partial<Record<BoundName, number>> = {};
  for (const { bound, limit } of bounds) {
    limits[bound] = BOUNDS[bound].within(limits[bound] ?? limit, limit);
  }
  return limits;
}

/** Fields whose value is out of bounds, with the nearest value within. */
function nearestWithin(guard: BoundFields, bounds: readonly Bound[]): AskedGuard {
  const limits = limitsOf(bounds);
  const fields = BOUND_NAMES.flatMap((bound) => {
    const { field, within } = BOUNDS[bound];
    const value = within(guard[field], limits[bound] ?? guard[field]);
    return value === guard[field] ? [] : [[field, value] as const];
  });
  return Object.fromEntries(fields);
}

/** The first bound that a value is beyond. */
export function boundExceeded(
  guard: BoundFields,
  bounds: readonly Bound[],
): (Bound & { readonly field: GuardFieldName; readonly value: number; readonly words: string }) | null {
  for (const each of bounds) {
    const { field, within, words } = BOUNDS[each.bound];
    const value = guard[field];
    if (within(value, each.limit) !== value) return { ...each, field, value, words };
  }
  return null;
}

/**
 * The guard that a request has under a policy: the policy's defaults, and the fields that the client sets.
 * @throws ApiError 403 `policy_violation` that names field and policy
 */
export function underPolicy({ defaults, locked, bounds }: OperatorPolicy, asked: AskedGuard): AskedGuard {
  const together = overridden(defaults, asked);
  const inForce = guardSchema.parse(defaults);
  const wanted = guardSchema.parse(together);
  for (const [field, policy] of locked) {
    if (isDeepStrictEqual(wanted[field], inForce[field])) continue;
    const kept = inForce[field] === undefined ? '' : ` to ${show(inForce[field])}`;
    throw violation(field, `locked${kept} by the policy ${policy}`);
  }
  const exceeded = boundExceeded(wanted, bounds);
  if (exceeded) {
    const { field, value, words, bound, limit, policy } = exceeded;
    throw violation(field, `${value} is ${words} ${limit}, which is ${bound} of the policy ${policy}`);
  }
  return together;
}

function violation(field: GuardFieldName, problem: string): ApiError {
  const param = `guard.${field}`;
  return new ApiError('policy_violation', `${param}: ${problem}`, param);
}
