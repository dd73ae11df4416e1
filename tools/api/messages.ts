import { CONNECTION_EVENTS, GENERATION_EVENTS } from 'flinch-client/protocol';
import type { z } from 'zod';
import {
  appendSchema,
  cancelSchema,
  createSchema,
  resumeSchema,
  scoreSchema,
} from '../../gateway/requests/generation-request.js';
import { type Json, requestSchema, responseSchema } from './schema-document.js';

type Schemas = Readonly<Record<string, z.core.$ZodType>>;

const CLIENT: Schemas = {
  'generation.create': createSchema,
  'generation.score': scoreSchema,
  'generation.append': appendSchema,
  'generation.resume': resumeSchema,
  'generation.cancel': cancelSchema,
};

const jsonOf = (schemas: Schemas, write: (schema: z.core.$ZodType) => Json): ReadonlyMap<string, Json> =>
  new Map(Object.entries(schemas).map(([type, schema]) => [type, write(schema)]));

/** The messages of the WebSocket `/v1/stream` in JSON Schema, by type. */
export const CLIENT_MESSAGES = jsonOf(CLIENT, requestSchema);
export const SERVER_MESSAGES = jsonOf({ ...GENERATION_EVENTS, ...CONNECTION_EVENTS }, responseSchema);
