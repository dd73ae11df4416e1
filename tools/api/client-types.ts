import { CONNECTION_EVENTS, GENERATION_EVENTS, NAMED_SCHEMAS } from 'flinch-client/protocol';
import { z } from 'zod';
import { createSchema, HTTP_FIELDS, textSchema } from '../../gateway/requests/generation-request.js';
import { guardSchema } from '../../gateway/requests/guard-limits.js';
import { message, messagePart } from '../../gateway/requests/message-fields.js';
import { head } from './method-list.js';
import { type JsonSchema, jsonSchema, requestSchema, responseSchema } from './schema-document.js';

/** The client's types without zod, which its users compile against, with a comment on each field. */

const parsed = (schema: z.core.$ZodType): JsonSchema => jsonSchema.parse(responseSchema(schema));
const asked = (schema: z.core.$ZodType): JsonSchema => jsonSchema.parse(requestSchema(schema));

/** client/src/guard-request.ts */
export function guardRequestType(): string {
  const guard = asked(guardSchema);
  const { scoring = jsonSchema.parse({}) } = guard.properties ?? {};
  return `${head('src/guard/guard-fields.ts')}
import type { Method } from './client-methods.js';

${request('ScoringRequest', scoring, scoring.description)}
${request('GuardRequest', guard, "How tokens are scored, and what happens to doubtful steps. Absent fields have the server's defaults.")}`;
}

/** client/src/client-request.ts */
export function generationRequestType(): string {
  const created = asked(createSchema);
  const { type: _, request_id: __, ...fields } = created.properties ?? {};
  const generation = { ...created, properties: { ...fields, ...upstreamFields(fields) } };
  return `${head('gateway/requests')}
import type { GuardRequest } from './guard-request.js';

${request('MessagePart', asked(messagePart), 'Part of a message. The gateway passes on further fields of it.')}
${request('Message', asked(message), 'Message of a conversation. The gateway passes on further fields of it.')}
${request('GenerationRequest', generation, 'Request for one answer. The gateway passes on further fields of it to upstreams.')}`;
}

/** Further fields of OpenAI's API, as far as the gateway knows them. */
function upstreamFields(known: Readonly<Record<string, unknown>>): Record<string, JsonSchema> {
  const { properties } = z
    .looseObject({
      properties: z.record(z.string(), z.looseObject({ enum: z.array(z.unknown()).optional() })),
    })
    .parse(requestSchema(textSchema));
  const others = Object.entries(properties).filter(
    ([name]) => !(name in known) && !NOT_IN_REQUESTS.has(name),
  );
  return Object.fromEntries(
    others.map(([name, { enum: neutral, ...schema }]) => {
      const values = neutral?.map((value) => `\`${JSON.stringify(value)}\``).join(' or ');
      const own = values ? `takes ${values} alone` : 'ignores it';
      const description = `For upstreams; a model that flinch runs ${own}.`;
      return [name, jsonSchema.parse({ ...schema, description })];
    }),
  );
}

/** Of the message on a WebSocket, and of HTTP. */
const NOT_IN_REQUESTS: ReadonlySet<string> = new Set(['type', 'request_id', ...HTTP_FIELDS]);

function request(name: string, { properties = {}, required }: JsonSchema, comment = ''): string {
  const fields = Object.entries(properties).map(([field, schema]) => {
    const optional = required.includes(field) ? '' : '?';
    const type = typeOf(schema).replaceAll(/(?:\w+|\([^()]*\))\[\]/g, 'readonly $&');
    return `${commentOf(schema)}  readonly ${field}${optional}: ${type};\n`;
  });
  return `/** ${comment} */\nexport interface ${name} {\n${fields.join('')}}\n`;
}

/** client/src/event-types.ts */
export function eventTypes(): string {
  const { Method, ...named } = NAMED_SCHEMAS;
  return [
    head('client/src/schemas.ts'),
    `import type { Method } from './client-methods.js';\n`,
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
  return typeof further === 'object' ? [[further, `[field: string]: ${typeOf(further)}`], ...fields] : fields;
}

/** Two schemas that differ in what they say of themselves alone are the same type. */
const keyOf = (schema: JsonSchema): string =>
  JSON.stringify({ ...schema, default: undefined, description: undefined });
const NAMES = new Map([
  ...Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [keyOf(parsed(schema)), name] as const),
  [keyOf(asked(guardSchema)), 'GuardRequest'],
  [keyOf(asked(guardSchema).properties?.scoring ?? jsonSchema.parse({})), 'ScoringRequest'],
  [keyOf(asked(message)), 'Message'],
  [keyOf(asked(messagePart)), 'MessagePart'],
]);

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
    const record = `Record<${typeOf(propertyNames)}, ${typeOf(jsonSchema.parse(schema.additionalProperties ?? {}))}>`;
    return propertyNames.enum ? `Partial<${record}>` : record;
  }
  const types = type === undefined ? ['unknown'] : [type].flat();
  if (types.includes('object') || types.includes('array'))
    throw new Error('a field has a type that the client has no words for');
  return types.map((each) => (each === 'integer' ? 'number' : each)).join(' | ');
}

const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : String(value));
