import { CONNECTION_EVENTS, GENERATION_EVENTS, NAMED_SCHEMAS } from 'flinch-client/protocol';
import { z } from 'zod';
import { guardSchema } from '../../gateway/requests/guard-limits.js';
import { requestSchema, responseSchema } from './json-schema.js';
import { head } from './method-list.js';

/** The client's types without zod, which its users compile against, with a comment on each field. */

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** Part of JSON Schema that the guard and the events use. */
const jsonSchema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  const: scalar.optional(),
  enum: z.array(scalar).optional(),
  default: z.unknown().optional(),
  required: z.array(z.string()).default([]),
  get items() {
    return jsonSchema.optional();
  },
  get anyOf() {
    return z.array(jsonSchema).optional();
  },
  get properties() {
    return z.record(z.string(), jsonSchema).optional();
  },
  get propertyNames() {
    return jsonSchema.optional();
  },
  get additionalProperties() {
    return z.union([z.literal(false), jsonSchema]).optional();
  },
});
type JsonSchema = z.output<typeof jsonSchema>;

const parsed = (schema: z.core.$ZodType): JsonSchema => jsonSchema.parse(responseSchema(schema));

/** client/src/guard-request.ts */
export function guardRequestType(): string {
  const { properties: fields = {} } = jsonSchema.parse(requestSchema(guardSchema));
  const { properties: settings = {}, description } = fields.scoring ?? {};
  return `${head('src/guard/guard-fields.ts')}
import type { Method } from './method-names.js';

/** ${description} */
export interface ScoringRequest {
${optional(settings)}}

/** How tokens are scored, and what happens to doubtful steps. Absent fields have the server's defaults. */
export interface GuardRequest {
${optional(fields)}}
`;
}

function optional(fields: Readonly<Record<string, JsonSchema>>): string {
  const lines = Object.entries(fields).map(([name, field]) => {
    const type = field.properties ? 'ScoringRequest' : typeOf(field);
    return `${commentOf(field)}  readonly ${name}?: ${type.endsWith('[]') ? 'readonly ' : ''}${type};\n`;
  });
  return lines.join('');
}

/** client/src/event-types.ts */
export function eventTypes(): string {
  const { Method, ...named } = NAMED_SCHEMAS;
  return [
    head('client/src/schemas.ts'),
    `import type { Method } from './method-names.js';\n`,
    ...Object.entries(named).map(([name, schema]) => declaration(name, schema, 'export ')),
    ...union('GenerationEvent', 'Events of a generation, which have a position in it.', GENERATION_EVENTS),
    ...union('ConnectionEvent', 'Messages about a request or the connection.', CONNECTION_EVENTS),
  ].join('\n');
}

function union(name: string, comment: string, events: Readonly<Record<string, z.core.$ZodType>>): string[] {
  const named = Object.entries(events).map(([type, schema]) => [`${pascalCase(type)}Event`, schema] as const);
  const names = named.map(([each]) => each);
  const line = ` ${names.join(' | ')};\n`;
  const alternatives = line.length > 80 ? `\n  | ${names.join('\n  | ')};\n` : line;
  return [
    ...named.map(([each, schema]) => declaration(each, schema)),
    `/** ${comment} */\nexport type ${name} =${alternatives}`,
  ];
}

/** `token.delta` is TokenDelta. */
const pascalCase = (type: string): string =>
  type.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());

function declaration(name: string, schema: z.core.$ZodType, scope = ''): string {
  const json = parsed(schema);
  const { description, properties } = json;
  const comment = description === undefined ? '' : `/** ${description} */\n`;
  if (!properties) return `${comment}${scope}type ${name} = ${unnamed(json)};\n`;
  const fields = fieldsOf(json).map(([field, text]) => `${commentOf(field)}  ${text};\n`);
  return `${comment}${scope}interface ${name} {\n${fields.join('')}}\n`;
}

function commentOf({ description, default: value }: JsonSchema): string {
  if (description === undefined) return '';
  const more =
    value === undefined || typeof value === 'object' ? '' : ` Default: \`${JSON.stringify(value)}\`.`;
  return `  /** ${description}${more} */\n`;
}

/** Each with its text: `id: number`. */
function fieldsOf({
  properties = {},
  required,
  additionalProperties: further,
}: JsonSchema): [JsonSchema, string][] {
  const fields = Object.entries(properties).map(([name, field]): [JsonSchema, string] => {
    const type = typeOf(field);
    return [field, required.includes(name) ? `${name}: ${type}` : `${name}?: ${type} | undefined`];
  });
  return further ? [[further, `[field: string]: ${typeOf(further)}`], ...fields] : fields;
}

/** Two schemas that differ in what they say of themselves alone are the same type. */
const keyOf = (schema: JsonSchema): string =>
  JSON.stringify({ ...schema, default: undefined, description: undefined });
const NAMES = new Map(Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [keyOf(parsed(schema)), name]));

const typeOf = (schema: JsonSchema): string => NAMES.get(keyOf(schema)) ?? unnamed(schema);

function unnamed(schema: JsonSchema): string {
  const { type, const: value, enum: values, items, anyOf, properties, propertyNames } = schema;
  if (values) return values.map(literal).join(' | ');
  if (value !== undefined) return literal(value);
  if (anyOf) return anyOf.map(typeOf).join(' | ');
  if (items) return items.enum && !NAMES.has(keyOf(items)) ? `(${typeOf(items)})[]` : `${typeOf(items)}[]`;
  if (properties)
    return `{ ${fieldsOf(schema)
      .map(([, text]) => text)
      .join('; ')} }`;
  if (propertyNames) {
    const record = `Record<${typeOf(propertyNames)}, ${typeOf(schema.additionalProperties || jsonSchema.parse({}))}>`;
    return propertyNames.enum ? `Partial<${record}>` : record;
  }
  const types = type === undefined ? ['unknown'] : [type].flat();
  if (types.includes('object') || types.includes('array'))
    throw new Error('a field has a type that the client has no words for');
  return types.map((each) => (each === 'integer' ? 'number' : each)).join(' | ');
}

const literal = (value: string | number | boolean): string =>
  typeof value === 'string' ? `'${value}'` : String(value);
