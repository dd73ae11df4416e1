import { z } from 'zod';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Schema of data that a client sends. */
export const requestSchema = (schema: z.core.$ZodType): JsonSchema => jsonSchema(schema, 'input');

/** Schema of data that the server sends: it has no other fields. */
export const responseSchema = (schema: z.core.$ZodType): JsonSchema => jsonSchema(schema, 'output');

function jsonSchema(schema: z.core.$ZodType, io: 'input' | 'output'): JsonSchema {
  // The document has `$schema` once; its parts must not have it.
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json;
}
