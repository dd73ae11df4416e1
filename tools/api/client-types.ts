import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { guardSchema } from '../../gateway/requests/guard-limits.js';
import { METHODS } from '../../src/uncertainty/method-names.js';
import { requestSchema } from './json-schema.js';

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** As much of JSON Schema as the guard's fields use. */
const fieldSchema = z.looseObject({
  type: z.enum(['boolean', 'integer', 'number', 'string', 'array']).optional(),
  description: z.string().optional(),
  const: scalar.optional(),
  enum: z.array(scalar).optional(),
  default: scalar.optional(),
  get items() {
    return fieldSchema.optional();
  },
  get anyOf() {
    return z.array(fieldSchema).optional();
  },
});
type FieldSchema = z.output<typeof fieldSchema>;

const objectSchema = z.object({ properties: z.record(z.string(), fieldSchema) });

/** client/src/guard-request.ts: what the client's users write, without zod, and with a comment on each field. */
export function guardRequestType(): string {
  const { properties } = objectSchema.parse(requestSchema(guardSchema));
  const fields = Object.entries(properties).map(
    ([name, field]) => `  /** ${commentOf(field)} */\n  readonly ${name}?: ${typeOf(field)};\n`,
  );
  return `// Written by \`npm run schemas\` from src/guard/guard-fields.ts; changes are made there.
import type { Method } from './events.js';

/** How tokens are scored, and what happens to doubtful steps. Absent fields have the server's defaults. */
export interface GuardRequest {
${fields.join('')}}
`;
}

const commentOf = ({ description = '', default: value }: FieldSchema): string =>
  value === undefined ? description : `${description} Default: \`${JSON.stringify(value)}\`.`;

function typeOf({ type, const: value, enum: values, items, anyOf }: FieldSchema): string {
  if (isDeepStrictEqual(values, [...METHODS])) return 'Method';
  if (values) return values.map(literal).join(' | ');
  if (value !== undefined) return literal(value);
  if (anyOf) return anyOf.map(typeOf).join(' | ');
  if (type === 'array' && items) return `readonly ${typeOf(items)}[]`;
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean' || type === 'string') return type;
  throw new Error('a field of the guard has a type that the client has no words for');
}

const literal = (value: string | number | boolean): string =>
  typeof value === 'string' ? `'${value}'` : String(value);
