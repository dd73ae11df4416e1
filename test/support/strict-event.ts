import { z } from 'zod';
import { CONNECTION_EVENTS, GENERATION_EVENTS } from '#src/client/protocol.js';

/** The same schema that takes no fields which it does not name, in none of its parts; those that are loose stay so. */
function strict(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodObject) {
    if (schema.def.catchall instanceof z.ZodUnknown) return schema;
    const fields = Object.entries(schema.shape).map(([name, field]) => [name, strict(field)]);
    return z.strictObject(Object.fromEntries(fields));
  }
  if (schema instanceof z.ZodOptional) return z.optional(strict(schema.unwrap()));
  if (schema instanceof z.ZodNullable) return z.nullable(strict(schema.unwrap()));
  if (schema instanceof z.ZodArray) return z.array(strict(schema.element));
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
export function checkEvent(event: { readonly type: string }): void {
  const schema = SCHEMAS.get(event.type);
  if (!schema) throw new Error(`the protocol knows no event ${event.type}`);
  const result = z.safeParse(schema, event);
  if (!result.success) {
    throw new Error(`${z.prettifyError(result.error)}\nin ${JSON.stringify(event).slice(0, 500)}`);
  }
}
