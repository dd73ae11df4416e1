import type { JsonSchema } from '../api/schema-document.js';
import { code } from './reference-markdown.js';

export interface Field {
  /** `guard.rate`, `messages[].role` */
  readonly path: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
}

/** All fields, those of objects within among them. */
export function fieldsOf(schema: JsonSchema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const required = schema.required?.includes(name) ?? false;
    return [{ path, schema: field, required }, ...fieldsWithin(field, path)];
  });
}

function fieldsWithin(schema: JsonSchema, path: string): Field[] {
  if (schema.properties) return fieldsOf(schema, `${path}.`);
  if (schema.items) return fieldsWithin(schema.items, `${path}[]`);
  return (schema.anyOf ?? []).flatMap((alternative) => fieldsWithin(alternative, path));
}

/** Type in words: `integer from 1 to 64`, `"step" or "token"`. */
export function typeOf(schema: JsonSchema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return either(schema.enum.map((value) => code(JSON.stringify(value))));
  if (schema.anyOf) return either(schema.anyOf.map(typeOf));
  if (schema.oneOf) return either(schema.oneOf.map(kindOf));
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? ['anything']);
  return either(types.map((type) => describe(type, schema)));
}

/** Objects that are told apart by their `type` are named by it. */
function kindOf(schema: JsonSchema): string {
  const kind = schema.properties?.type?.const;
  return kind === undefined ? typeOf(schema) : code(JSON.stringify(kind));
}

const either = (words: readonly string[]): string => {
  const all = [...new Set(words)];
  return [all.slice(0, -1).join(', '), all.at(-1)].filter((part) => part).join(' or ');
};

function describe(type: string, schema: JsonSchema): string {
  const { properties, additionalProperties } = schema;
  switch (type) {
    case 'integer':
    case 'number':
      return `${type}${range(schema)}`;
    case 'string':
      return `string${pattern(schema)}${sizeOf(schema.minLength, schema.maxLength, 'character')}`;
    case 'array': {
      const items = sizeOf(schema.minItems, schema.maxItems, 'item');
      return `list of ${schema.items ? typeOf(schema.items) : 'anything'}${items}`;
    }
    case 'object': {
      if (!properties && typeof additionalProperties === 'object') {
        return `object of ${typeOf(additionalProperties)} by name`;
      }
      return 'object';
    }
    default:
      return type;
  }
}

/** Whether a bound is a limit: the bounds of safe integers are not. */
const isLimit = (bound: number | undefined): bound is number =>
  bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  if (isLimit(minimum) && isLimit(maximum)) return ` from ${minimum} to ${maximum}`;
  const bounds = [
    isLimit(minimum) && `at least ${minimum}`,
    isLimit(exclusiveMinimum) && `above ${exclusiveMinimum}`,
    isLimit(maximum) && `at most ${maximum}`,
    isLimit(exclusiveMaximum) && `below ${exclusiveMaximum}`,
  ].filter((bound) => bound !== false);
  return bounds.length > 0 ? `, ${bounds.join(' and ')}` : '';
}

const pattern = ({ pattern }: JsonSchema): string => (pattern === undefined ? '' : ` like ${code(pattern)}`);

function sizeOf(least: number | undefined, most: number | undefined, unit: string): string {
  if (most !== undefined && least !== undefined) return ` (${least} to ${most} ${unit}s)`;
  if (most !== undefined) return ` (at most ${most} ${unit}s)`;
  // A minimum length of 1 is not mentioned.
  return least === undefined || least === 1 ? '' : ` (at least ${least} ${unit}s)`;
}

/** A description ends with a default that the schema, or the command, does not set by itself. */
const DEFAULT_WORDS = / \(default: (.+)\)(?=\.?$)/;
export const defaultWords = (description = ''): string | undefined => DEFAULT_WORDS.exec(description)?.[1];
export const withoutDefault = (description = ''): string => description.replace(DEFAULT_WORDS, '');

export const defaultOf = ({ default: value, description }: JsonSchema): string =>
  value === undefined || isRecord(value) ? (defaultWords(description) ?? '') : code(JSON.stringify(value));

const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
