import { isDeepStrictEqual } from 'node:util';
import { fieldName } from '../../src/files/json.js';
import { contradictionIn } from '../policy/contradiction.js';
import { ConfigError } from './config-error.js';
import type { Config } from './gateway-config.js';

export interface Reloaded {
  /** The running configuration with the changes that take effect at once. */
  readonly config: Config;
  /** Names of the changed fields that take effect after a restart. A list is one field. */
  readonly restart: readonly string[];
}

/**
 * What a changed configuration means for a gateway that runs: policies (`guard`) and `access` are replaced. Models that the change leaves out are served until a restart, under the policies that they had.
 * @throws ConfigError where the changed policies contradict those of a model that is left out, or no key is left: a file
 *   that is empty, or half written, must not open the gateway to everybody
 */
export function reloaded(running: Config, changed: Config): Reloaded {
  if (running.access.keys.length > 0 && changed.access.keys.length === 0)
    throw new ConfigError('access.keys', 'are missing; removing all keys takes a restart');
  const models = running.models && {
    models: Object.fromEntries(
      Object.entries(running.models).map(([name, model]) => {
        const own = changed.models && Object.hasOwn(changed.models, name) ? changed.models[name] : model;
        return [name, { ...model, guard: own?.guard }];
      }),
    ),
  };
  const config = { ...running, ...models, guard: changed.guard, access: changed.access };
  const found = contradictionIn(config);
  if (found) throw new ConfigError(fieldName(found.path), found.problem);
  return { config, restart: differences(config, changed, []) };
}

function differences(before: unknown, after: unknown, path: readonly string[]): string[] {
  if (!isPart(before) || !isPart(after)) return isDeepStrictEqual(before, after) ? [] : [fieldName(path)];
  const [old, recent] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = new Set([...old.keys(), ...recent.keys()]);
  return [...names].flatMap((name) => differences(old.get(name), recent.get(name), [...path, name]));
}

const isPart = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
