import { z } from 'zod';
import { CONNECTION_EVENTS, GENERATION_EVENTS } from '#src/client/protocol.js';

/** The same schema that takes no fields which it does not name, in none of its parts; those that are loose stay so. */
function strict(schema: z.core.$ZodType): z.core.$ZodType {
  // By their cores: the schemas are of zod's small half.
  if (schema instanceof z.core.$ZodObject) {
    const { catchall, shape } = schema._zod.def;
    if (catchall instanceof z.core.$ZodUnknown) return schema;
    const fields = Object.entries(shape).map(([name, field]) => [name, strict(field)]);
    return z.strictObject(Object.fromEntries(fields));
  }
  if (schema instanceof z.core.$ZodOptional) return z.optional(strict(schema._zod.def.innerType));
  if (schema instanceof z.core.$ZodNullable) return z.nullable(strict(schema._zod.def.innerType));
  if (schema instanceof z.core.$ZodArray) return z.array(strict(schema._zod.def.element));
  return schema;
}

const SCHEMAS = new Map(
  Object.entries({ ...GENERATION_EVENTS, ...CONNECTION_EVENTS }).map(([type, schema]) => [
    type,
    strict(schema),
  ]),
);

/**
 * Checks that an event is one of the protocol's, and has no field that the protocol does not know.
 * @throws Error that names the fields
 */
export function checkEvent(event: { readonly type: string; readonly [field: string]: unknown }): void {
  const schema = SCHEMAS.get(event.type);
  if (!schema) throw new Error(`the protocol knows no event ${event.type}`);
  const result = z.safeParse(schema, event);
  if (!result.success) {
    throw new Error(`${z.prettifyError(result.error)}\nin ${JSON.stringify(event).slice(0, 500)}`);
  }
}
