import { z } from 'zod';

type JsonSchema = Readonly<Record<string, unknown>>;

/** As a client writes it. */
export const requestSchema = (schema: z.core.$ZodType): JsonSchema => jsonSchema(schema, 'input');

/** As the server writes it: it has no other fields than these. */
export const responseSchema = (schema: z.core.$ZodType): JsonSchema => jsonSchema(schema, 'output');

function jsonSchema(schema: z.core.$ZodType, io: 'input' | 'output'): JsonSchema {
  // What a document says once about itself has no place in its parts.
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json;
}
