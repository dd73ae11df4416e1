import { z } from 'zod';

export type Json = Readonly<Record<string, unknown>>;

/** A JSON Schema, as far as the reference and the types of the client need it. */
export const jsonSchema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  pattern: z.string().optional(),
  required: z.array(z.string()).default([]),
  $ref: z.string().optional(),
  get items() {
    return jsonSchema.optional();
  },
  get properties() {
    return z.record(z.string(), jsonSchema).optional();
  },
  get additionalProperties() {
    return z.union([z.boolean(), jsonSchema]).optional();
  },
  get propertyNames() {
    return jsonSchema.optional();
  },
  get anyOf() {
    return z.array(jsonSchema).optional();
  },
  get oneOf() {
    return z.array(jsonSchema).optional();
  },
});

export type JsonSchema = z.output<typeof jsonSchema>;

/** Schema of data that a client sends. */
export const requestSchema = (schema: z.core.$ZodType): Json => generated(schema, 'input');

/** Schema of data that the server sends: it has no other fields. */
export const responseSchema = (schema: z.core.$ZodType): Json => generated(schema, 'output');

function generated(schema: z.core.$ZodType, io: 'input' | 'output'): Json {
  // The document has `$schema` once; its parts must not have it.
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json;
}
