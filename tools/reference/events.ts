import { z } from 'zod';
import { asyncApi } from '../api/asyncapi.js';
import { jsonSchema } from '../api/json-schema.js';
import { fieldTable, REQUEST_SCHEMAS } from './http.js';

import { page } from './markdown.js';

const reference = z.object({ $ref: z.string() });
const operation = z.object({ messages: z.array(reference) });

/** Part of gateway/asyncapi.json that the reference reads. */
const asyncApiSchema = z.object({
  operations: z.object({ ask: operation, tell: operation }),
  components: z.object({ messages: z.record(z.string(), z.object({ payload: jsonSchema })) }),
});

/** The messages of the WebSocket, and their fields. */
export function eventsReference(version: string): string {
  const { operations, components } = asyncApiSchema.parse(asyncApi(version));
  const describe = ({ messages }: z.output<typeof operation>): string[] =>
    messages
      .map(({ $ref }) => $ref.split('/').at(-1) ?? '')
      .map((type) => `### ${type}\n\n${fieldTable(components.messages[type]!.payload)}`);
  return page('Events', `${REQUEST_SCHEMAS} and [client/src/schemas.ts](../../client/src/schemas.ts)`, [
    'All messages of the WebSocket `/v1/stream` with their fields. For tools: [gateway/asyncapi.json](../../gateway/asyncapi.json). Meaning and order: [PROTOCOL.md](../../gateway/PROTOCOL.md). Close codes: [errors.md](errors.md#close-codes).',
    '## From the client',
    ...describe(operations.ask),
    '## From the server',
    ...describe(operations.tell),
  ]);
}
