import { CONNECTION_EVENTS, GENERATION_EVENTS, SUBPROTOCOL } from 'flinch-client/protocol';
import {
  appendSchema,
  cancelSchema,
  createSchema,
  resumeSchema,
  scoreSchema,
} from '../../gateway/requests/generation-request.js';
import { type Json, requestSchema, responseSchema } from './json-schema.js';

const CLIENT_MESSAGES = {
  'generation.create': createSchema,
  'generation.score': scoreSchema,
  'generation.append': appendSchema,
  'generation.resume': resumeSchema,
  'generation.cancel': cancelSchema,
} as const;

const messages = (schemas: Readonly<Record<string, unknown>>): Json =>
  Object.fromEntries(Object.keys(schemas).map((type) => [type, { $ref: `#/components/messages/${type}` }]));

/** The WebSocket of the gateway in AsyncAPI 3.0, as PROTOCOL.md describes it in words. */
export function asyncApi(version: string): Json {
  const events = { ...GENERATION_EVENTS, ...CONNECTION_EVENTS };
  const message = (type: string, payload: Json): [string, Json] => [
    type,
    { name: type, contentType: 'application/json', payload },
  ];
  return {
    asyncapi: '3.0.0',
    info: { title: 'flinch', version, license: { name: 'Apache-2.0' } },
    servers: { local: { host: '127.0.0.1:8787', protocol: 'ws' } },
    channels: {
      stream: {
        address: '/v1/stream',
        description: `Subprotocol ${SUBPROTOCOL}: any number of generations on one connection (PROTOCOL.md).`,
        messages: { ...messages(CLIENT_MESSAGES), ...messages(events) },
        bindings: {
          ws: {
            method: 'GET',
            headers: {
              type: 'object',
              properties: { 'Sec-WebSocket-Protocol': { const: SUBPROTOCOL } },
              required: ['Sec-WebSocket-Protocol'],
            },
            query: { type: 'object', properties: { ticket: { type: 'string' } } },
          },
        },
      },
    },
    operations: {
      ask: {
        action: 'receive',
        channel: { $ref: '#/channels/stream' },
        messages: Object.keys(CLIENT_MESSAGES).map((type) => ({
          $ref: `#/channels/stream/messages/${type}`,
        })),
      },
      tell: {
        action: 'send',
        channel: { $ref: '#/channels/stream' },
        messages: Object.keys(events).map((type) => ({ $ref: `#/channels/stream/messages/${type}` })),
      },
    },
    components: {
      messages: Object.fromEntries([
        ...Object.entries(CLIENT_MESSAGES).map(([type, schema]) => message(type, requestSchema(schema))),
        ...Object.entries(events).map(([type, schema]) => message(type, responseSchema(schema))),
      ]),
    },
  };
}
