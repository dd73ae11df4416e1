import { z } from 'zod';
import { excessOf } from '../../src/files/json-bounds.js';
import { nearest } from '../../src/files/nearest.js';
import { ConfigError } from './config-error.js';
import { configSchema } from './gateway-config.js';
import { type ConfigLayer, nest } from './layer.js';

type Path = readonly string[];
type Kind = 'number' | 'boolean' | 'text' | 'texts' | 'json';

interface Field {
  readonly path: Path;
  readonly kind: Kind;
}

const PREFIX = 'FLINCH_';

/** Variables that the examples' clients read; they may be set where a gateway is started. */
const OF_CLIENTS: ReadonlySet<string> = new Set(['FLINCH_URL', 'FLINCH_API_KEY']);

/** Parts with many fields have one variable, in JSON. */
const WHOLE: ReadonlySet<string> = new Set(['guard']);

/** Fields by the environment variable that sets them: `FLINCH_LIMITS_BODY_BYTES` is `limits.body_bytes`. */
export const CONFIG_VARIABLES: ReadonlyMap<string, Field> = new Map(
  leaves(z.toJSONSchema(configSchema, { io: 'input' }), []).map((field) => [variableOf(field.path), field]),
);

/** The variable that sets a field. */
export function variableOf(path: readonly unknown[]): string {
  return PREFIX + path.join('_').toUpperCase();
}

type Schema = z.core.JSONSchema.BaseSchema;

function leaves(schema: Schema, path: Path): Field[] {
  if (!schema.properties || WHOLE.has(path.join('.'))) return [{ path, kind: kindOf(schema) }];
  return Object.entries(schema.properties).flatMap(([name, field]) =>
    typeof field === 'boolean' ? [] : leaves(field, [...path, name]),
  );
}

function kindOf({ type, items }: Schema): Kind {
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  if (type === 'string') return 'text';
  const each = Array.isArray(items) ? undefined : items;
  return typeof each === 'object' && each.type === 'string' ? 'texts' : 'json';
}

/**
 * Reads the configuration from the environment. Lists of texts are separated by commas; other lists, `models` and
 * `guard` are JSON. `PORT` is another name of `FLINCH_LISTEN_PORT`, which overrides it.
 * @throws ConfigError for a value that is not of the field's kind
 */
export function readVariables(env: NodeJS.ProcessEnv): ConfigLayer[] {
  return Object.entries(env).flatMap(([variable, text]) => {
    const field = CONFIG_VARIABLES.get(variable === 'PORT' ? variableOf(['listen', 'port']) : variable);
    // An empty one is none: some shells and process managers cannot unset a variable.
    if (!field || !text) return [];
    const values = nest(field.path, readValue(text, field.kind, variable));
    const layer: ConfigLayer = { values, location: () => variable };
    return variable === 'PORT' && env[variableOf(field.path)] ? [] : [layer];
  });
}

/**
 * @param allowed further variables with our prefix: those that the configuration names as holding keys
 * @throws ConfigError for an unknown variable with our prefix
 */
export function checkVariables(env: NodeJS.ProcessEnv, allowed: ReadonlySet<string>): void {
  const names = [...CONFIG_VARIABLES.keys()];
  for (const variable of Object.keys(env)) {
    const known = [CONFIG_VARIABLES, OF_CLIENTS, allowed].some((some) => some.has(variable));
    if (!variable.startsWith(PREFIX) || known) continue;
    const near = nearest(variable, names);
    throw new ConfigError(
      variable,
      `is not a flinch variable${near === null ? '' : `; did you mean ${near}?`}`,
    );
  }
}

function readValue(text: string, kind: Kind, variable: string): unknown {
  switch (kind) {
    case 'number':
      // "0x10" and "1e3" are numbers to JavaScript, but mistakes here.
      if (!/^-?\d+(\.\d+)?$/.test(text.trim())) throw new ConfigError(variable, 'must be a number');
      return Number(text);
    case 'boolean':
      if (text !== 'true' && text !== 'false') throw new ConfigError(variable, 'must be true or false');
      return text === 'true';
    case 'text':
      return text;
    case 'texts':
      return text.split(',').map((part) => part.trim());
    case 'json':
      return parseJsonVariable(text, variable);
  }
}

function parseJsonVariable(text: string, variable: string): unknown {
  const excess = excessOf(text, {});
  if (excess !== null) throw new ConfigError(variable, excess);
  try {
    return JSON.parse(text);
  } catch {
    throw new ConfigError(variable, 'must be JSON');
  }
}
