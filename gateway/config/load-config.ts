import { reasonOf } from '../../src/files/file-errors.js';
import { fieldName } from '../../src/files/json.js';
import { readRegularFile } from '../../src/files/regular-file.js';
import { ConfigError } from './config-error.js';
import { describeIssue, KEY_FIELDS, unknownIn } from './config-issue.js';
import { type Config, configSchema } from './gateway-config.js';
import type { ConfigLayer } from './layer.js';
import { checkVariables, readVariables } from './variables.js';
import { parseYaml } from './yaml-file.js';

/** The largest file: tens of thousands of keys. */
const MAX_BYTES = 4 << 20;

export interface ConfigSources {
  /** YAML or JSON. */
  readonly file?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly flags?: readonly ConfigLayer[];
}

/**
 * Defaults < file < environment < flags.
 * @throws ConfigError for a value, field or variable that is refused; it says where it came from
 */
export async function loadConfig({ file, env = {}, flags = [] }: ConfigSources): Promise<Config> {
  const fileLayers = file === undefined ? [] : [await readConfigFile(file)];
  const layers = [...fileLayers, ...readVariables(env), ...flags];
  checkVariables(env, new Set(layers.flatMap(({ values }) => keyVariables(values))));
  return mergeConfig(layers);
}

/**
 * The values of all layers; later ones override earlier ones: field by field, but a list, `models` and `guard` as
 * a whole.
 * @throws ConfigError for the first problem
 */
export function mergeConfig(layers: readonly ConfigLayer[]): Config {
  const merged = layers.reduce<unknown>((values, layer) => merge(values, layer.values, []), {});
  const result = configSchema.safeParse(merged);
  if (result.success) return result.data;
  const { issues } = result.error;
  const { path, problem } = describeIssue(issues.find((each) => unknownIn(each).length > 0) ?? issues[0]!);
  // The last of those that say the most about it.
  const depths = layers.map(({ values }) => depth(values, path));
  const source = layers[depths.lastIndexOf(Math.max(...depths))];
  throw new ConfigError(source ? source.location(path) : fieldName(path), problem);
}

async function readConfigFile(file: string): Promise<ConfigLayer> {
  const text = await readRegularFile(file, MAX_BYTES).catch((error: unknown) => {
    throw new ConfigError(file, `cannot be read (${reasonOf(error)})`);
  });
  const { parsed, lineOf } = parseYaml(text, file);
  if (!isRecord(parsed)) throw new ConfigError(file, 'must contain fields, such as "listen: {port: 9000}"');
  const values = withoutEmpty(parsed);
  return {
    values,
    location: (path) => (path.length > 0 ? `${file}:${lineOf(path)}: ${fieldName(path)}` : file),
  };
}

/**
 * Leaves out the parts, and their fields, that have nothing but comments after their name, which is null in YAML:
 * they have their defaults. Models stay: the name of a model says that one is meant.
 */
function withoutEmpty(values: Record<string, unknown>): Record<string, unknown> {
  const named = Object.entries(values).filter(([, value]) => value !== null);
  return Object.fromEntries(
    named.map(([name, value]) => [name, isRecord(value) && name !== 'models' ? withoutEmpty(value) : value]),
  );
}

/** Parts that a later layer replaces as a whole. */
const REPLACED: ReadonlySet<string | undefined> = new Set(['models', 'guard']);

function merge(before: unknown, after: unknown, path: readonly string[]): unknown {
  if (!isRecord(before) || !isRecord(after) || REPLACED.has(path[0])) return after;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  // `fromEntries` also makes a field named "__proto__", which the schema then refuses like any unknown field.
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      Object.hasOwn(after, name) ? merge(own(before, name), after[name], [...path, name]) : before[name],
    ]),
  );
}

const own = (record: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** How far into a value a path leads. */
function depth(value: unknown, [name, ...rest]: readonly PropertyKey[]): number {
  if (name === undefined || typeof value !== 'object' || value === null || !Object.hasOwn(value, name))
    return 0;
  return 1 + depth(Object.entries(value).find(([key]) => key === String(name))?.[1], rest);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Names of variables that hold keys: whatever any of these fields says. They may begin with our prefix. */
function keyVariables(values: unknown): string[] {
  if (Array.isArray(values)) return values.flatMap(keyVariables);
  if (!isRecord(values)) return [];
  return Object.entries(values).flatMap(([name, value]) =>
    KEY_FIELDS.has(name) && typeof value === 'string' ? [value] : keyVariables(value),
  );
}
