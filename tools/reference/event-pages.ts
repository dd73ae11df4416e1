import { CLIENT_MESSAGES, SERVER_MESSAGES } from '../api/messages.js';
import { type Json, jsonSchema } from '../api/schema-document.js';
import { fieldTable, REQUEST_SCHEMAS } from './http-pages.js';
import { page } from './reference-markdown.js';

/** The messages of the WebSocket, and their fields. */
export function eventsReference(): string {
  const describe = (messages: ReadonlyMap<string, Json>): string[] =>
    [...messages].map(([type, schema]) => `### ${type}\n\n${fieldTable(jsonSchema.parse(schema))}`);
  return page('Events', `${REQUEST_SCHEMAS} and [client/src/schemas.ts](../../client/src/schemas.ts)`, [
    'All messages of the WebSocket `/v1/stream` with their fields. For tools: the schemas of [flinch-client/protocol](../../client/README.md#without-the-websocket). Meaning and order: [PROTOCOL.md](../../gateway/PROTOCOL.md). Close codes: [errors.md](errors.md#close-codes).',
    '## From the client',
    ...describe(CLIENT_MESSAGES),
    '## From the server',
    ...describe(SERVER_MESSAGES),
  ]);
}
