import * as z from 'zod/mini';
import type { ServerEvent, UnknownEvent } from './protocol-events.js';
import { CONNECTION_EVENTS, GENERATION_EVENTS } from './schemas.js';

/** A message that does not follow the protocol; `evidence` is its beginning. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly evidence: string;

  constructor(message: string, evidence: string) {
    super(message);
    this.evidence = evidence.slice(0, 200);
  }
}

const SCHEMAS: Readonly<Record<string, z.ZodMiniType<ServerEvent> | undefined>> = {
  ...GENERATION_EVENTS,
  ...CONNECTION_EVENTS,
};
const unknownEvent = z.object({
  type: z.pipe(
    z.string(),
    z.transform(() => 'unknown' as const),
  ),
  response_id: z.optional(z.string()),
  offset: z.optional(z.int().check(z.minimum(0))),
});

/**
 * Reads one text frame. Fields and types of events that are not known here are no error: a newer server may say more.
 * @throws ProtocolError
 */
export function readEvent(frame: string): ServerEvent | UnknownEvent {
  let message: unknown;
  try {
    message = JSON.parse(frame);
  } catch {
    throw new ProtocolError('the server sent something that is not JSON', frame);
  }
  const head = unknownEvent.safeParse(message);
  if (!head.success) throw new ProtocolError('the server sent a message without a type', frame);
  const schema = SCHEMAS[typeOf(message)];
  if (!schema) return { ...head.data };
  const event = schema.safeParse(message);
  if (event.success) return event.data;
  const field = event.error.issues[0]?.path.join('.') ?? '';
  throw new ProtocolError(
    `the server sent a ${typeOf(message)} whose "${field}" is not as it should be`,
    frame,
  );
}

function typeOf(message: unknown): string {
  const named = typeof message === 'object' && message !== null && 'type' in message ? message.type : null;
  return typeof named === 'string' && Object.hasOwn(SCHEMAS, named) ? named : '';
}
