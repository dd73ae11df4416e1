import { isDeepStrictEqual } from 'node:util';
import { fieldName } from '../../src/files/json.js';
import type { Config } from './config.js';

/** Names of the fields that differ between two configurations, policies (`guard`) apart. A list is one field. */
export const changedFields = (before: Config, after: Config): string[] =>
  differences(withoutPolicies(before), withoutPolicies(after), []);

function withoutPolicies({ guard: _, models = {}, access, ...rest }: Config): object {
  const withoutGuard = ({ guard: _, ...fields }: { readonly guard?: unknown }): object => fields;
  return {
    ...rest,
    models: Object.fromEntries(Object.entries(models).map(([name, model]) => [name, withoutGuard(model)])),
    access: { ...access, keys: access.keys.map(withoutGuard) },
  };
}

function differences(before: unknown, after: unknown, path: readonly string[]): string[] {
  if (!isPart(before) || !isPart(after)) return isDeepStrictEqual(before, after) ? [] : [fieldName(path)];
  const [old, recent] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = new Set([...old.keys(), ...recent.keys()]);
  return [...names].flatMap((name) => differences(old.get(name), recent.get(name), [...path, name]));
}

const isPart = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
