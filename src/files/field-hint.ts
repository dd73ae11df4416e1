import { z } from 'zod';
import { fieldName } from './json.js';
import { nearest } from './nearest.js';

export type JsonSchema = z.core.JSONSchema.BaseSchema;
type Path = readonly PropertyKey[];
type Field = readonly [name: PropertyKey, schema: JsonSchema];

/** Places that a hint names at most. */
const MOST_PLACES = 3;

/**
 * What was probably meant by a field that a schema does not have: the place where it belongs if it is at the wrong
 * level, or else the field with the nearest name. It ends a message; it is empty if nothing is like the field.
 *
 * @example
 * fieldHint(configSchema, ['guard', 'action']); // '; it belongs at guard.defaults.action'
 * fieldHint(configSchema, ['listen', 'prot']); // '; did you mean port?'
 */
export function fieldHint(schema: z.ZodType, path: Path): string {
  const whole = jsonSchemaOf(schema);
  const before = path.slice(0, -1);
  const name = String(path.at(-1));
  const parents = before.reduce((all: readonly JsonSchema[], key) => all.flatMap(at(key)), [whole]);
  const names = parents.flatMap(fieldsOf).map(([field]) => String(field));
  if (names.includes(name)) return ''; // it is of an alternative that was not meant
  const below = placesOf(name, parents).map((place) => [...before, ...place]);
  const near = nearest(name, names);
  if (below.length === 0 && near !== null) return `; did you mean ${near}?`;
  const places = (below.length > 0 ? below : placesOf(name, [whole])).slice(0, MOST_PLACES);
  return places.length === 0 ? '' : `; it belongs at ${places.map(fieldName).join(' or ')}`;
}

const known = new WeakMap<z.ZodType, JsonSchema>();

export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const json = known.get(schema) ?? z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  known.set(schema, json);
  return json;
}

/** Paths that end in a name: the shortest ones. */
function placesOf(name: string, schemas: readonly JsonSchema[]): Path[] {
  let level: (readonly [Path, JsonSchema])[] = schemas.map((schema) => [[], schema]);
  while (level.length > 0) {
    level = level.flatMap(([path, schema]) =>
      [...fieldsOf(schema), ...othersOf(schema)].map(([key, child]) => [[...path, key], child] as const),
    );
    const found = level.map(([path]) => path).filter((path) => path.at(-1) === name);
    if (found.length > 0) return [...new Map(found.map((path) => [fieldName(path), path])).values()];
  }
  return [];
}

export const at =
  (key: PropertyKey) =>
  (schema: JsonSchema): JsonSchema[] => {
    const named = fieldsOf(schema).filter(([name]) => name === key);
    return (named.length > 0 ? named : othersOf(schema)).map(([, child]) => child);
  };

const fieldsOf = (schema: JsonSchema): Field[] =>
  schemasIn(alternativesOf(schema).flatMap(({ properties = {} }) => Object.entries(properties)));

/** What stands for any other name, and for any item of a list. */
const othersOf = (schema: JsonSchema): Field[] =>
  schemasIn(
    alternativesOf(schema).flatMap(({ additionalProperties, items }): [PropertyKey, unknown][] => [
      ['NAME', additionalProperties],
      [0, items],
    ]),
  );

/** A schema, and those that it is made of. */
export const alternativesOf = (schema: JsonSchema): readonly JsonSchema[] => [
  schema,
  ...[schema.anyOf, schema.oneOf, schema.allOf].flatMap((some = []) => some.flatMap(alternativesOf)),
];

/** Leaves out `true` and `false`, which are schemas, too. */
const schemasIn = (fields: readonly (readonly [PropertyKey, unknown])[]): Field[] =>
  fields.filter((field): field is Field => typeof field[1] === 'object' && field[1] !== null);
