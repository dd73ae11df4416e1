import { z } from 'zod';

/** A gateway that reads a generation of another, and the number of this reading there. */
const reader = z.strictObject({ gateway: z.string(), number: z.int() });
export type ReaderName = z.output<typeof reader>;

/** Messages between gateways, each in the inbox of the receiver. */
export const messageSchema = z.discriminatedUnion('type', [
  /**
   * Sent to the gateway that has the generation: all before the offset was sent. The first takes it over; it is
   * repeated every few seconds, and without it the generation waits no longer than for any client.
   */
  z.strictObject({
    type: z.literal('read'),
    id: z.string(),
    owner: z.string(),
    reader,
    offset: z.int().min(0),
    first: z.boolean(),
  }),
  /** Sent to the same: the generation is read no more, is not wanted any more, or is to end. */
  z.strictObject({
    type: z.literal('act'),
    id: z.string(),
    reader,
    action: z.enum(['detach', 'discard', 'cancel']),
  }),
  /** Sent to its reader: another gateway reads it now, or it cannot be read any more. */
  z.strictObject({
    type: z.literal('lost'),
    number: z.int(),
    code: z.enum(['taken_over', 'not_recovered']),
  }),
  /** Sent to the gateway that has it: its client, which never learned its id, has asked again. */
  z.strictObject({ type: z.literal('forget'), owner: z.string(), requestId: z.string() }),
]);

export type Message = z.output<typeof messageSchema>;
export type MessageOf<Type extends Message['type']> = Extract<Message, { readonly type: Type }>;
