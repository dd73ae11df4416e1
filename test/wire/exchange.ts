import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { type Script, SSE } from '../support/scripted-upstream.js';
import { answering } from '../support/upstream-doubles.js';

type Json = Readonly<Record<string, unknown>>;
const json = z.record(z.string(), z.unknown());

const schema = z.strictObject({
  /** Where servers that send this are described. */
  report: z.string(),
  api: z.enum(['chat', 'completions', 'responses']),
  /** Fields of the client's request. */
  request: json,
  /** The upstream's stream: objects are the data of an event, strings are bytes as they are. */
  stream: z.array(z.union([z.string(), json])),
  /** Its answer to a request that is not streamed, if that is known. */
  whole: json.optional(),
  /** What a client has in the end. */
  expected: z.strictObject({ choice: json, usage: json.nullable(), fields: json.optional() }),
});

export interface Exchange extends z.output<typeof schema> {
  readonly name: string;
  /** Path behind `/v1`. */
  readonly path: string;
}

export const FOLDER = new URL('exchanges/', import.meta.url);
export const PATHS = { chat: '/chat/completions', completions: '/completions', responses: '/responses' };

/** What servers really send: one file for each form. */
const ALL: readonly Exchange[] = readdirSync(FOLDER).map((file) => {
  const exchange = schema.parse(JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')));
  return { ...exchange, name: file.replace('.json', ''), path: PATHS[exchange.api] };
});

export const EXCHANGES = ALL.filter(({ api }) => api !== 'responses');
export const RESPONSES = ALL.filter(({ api }) => api === 'responses');

/** Fields of a request: no guard, a stream with all that it can tell. */
export const OFF = { guard: { enabled: false } };
export const STREAMED = { stream: true, stream_options: { include_usage: true } };

/** The body of a client's request; its `user` tells the server which exchange it is. */
export const requestOf = ({ name, api, request }: Exchange, changes: Json = {}): Json => ({
  model: 'm',
  user: name,
  ...(api === 'chat' && { messages: [{ role: 'user', content: 'Say it.' }] }),
  ...request,
  ...changes,
});

/** Data of the events with an object, as a reader of Server-Sent Events has them. */
export const eventsOf = (exchange: Exchange): Json[] =>
  bytesOf(exchange)
    .toString()
    .replace(/^\ufeff/, '')
    .split(/\r?\n\r?\n/)
    .map((event) => event.split(/\r?\n/).filter((line) => line.startsWith('data:')))
    .map((lines) =>
      lines
        .map((line) => line.slice('data:'.length))
        .join('\n')
        .trim(),
    )
    .filter((data) => data.startsWith('{'))
    .map((data) => json.parse(JSON.parse(data)))
    .filter(({ choices }) => exchange.api === 'responses' || choices !== undefined);

export const bytesOf = ({ stream, api }: Exchange): Buffer => {
  const event = (data: Json): string =>
    `${api === 'responses' ? `event: ${data.type}\n` : ''}data: ${JSON.stringify(data)}\n\n`;
  return Buffer.from(stream.map((each) => (typeof each === 'string' ? each : event(each))).join(''));
};

const part = z.looseObject({ type: z.string(), text: z.unknown().optional() });
const textParts = z
  .array(part)
  .transform((parts) => parts.map(({ type, text }) => (type === 'text' ? text : '')).join(''));

/** Text of a content, of its parts if it has parts. */
export const textOf = (content: unknown): string =>
  typeof content === 'string' ? content : (textParts.safeParse(content).data ?? '');

/** The text of the first choice. */
export const expectedText = ({ expected: { choice } }: Exchange): string =>
  textOf(
    z.looseObject({ content: z.unknown().optional() }).safeParse(choice.message).data?.content ?? choice.text,
  );

/** How the bytes of an answer come. */
export const CUTS: Readonly<Record<string, (bytes: Buffer) => Buffer[]>> = {
  'in one piece': (bytes) => [bytes],
  'byte by byte': (bytes) => [...bytes].map((byte) => Buffer.from([byte])),
  'in pieces of 1 to 60 bytes': (bytes) => {
    const pieces: Buffer[] = [];
    for (let at = 0, size = 1; at < bytes.length; at += size, size = 1 + ((37 * pieces.length) % 60))
      pieces.push(bytes.subarray(at, at + size));
    return pieces;
  },
};

/** A server that answers each request as its exchange says. */
export const serverOf = (exchanges: readonly Exchange[], cut = CUTS['in one piece']!): Script =>
  answering(({ json: asked }, reply) => {
    const exchange = exchanges.find(({ name }) => name === asked.user);
    if (!exchange) return reply.json(400, { error: { message: `no exchange "${asked.user}"` } });
    if (asked.stream !== true)
      return reply.json(200, exchange.whole ?? eventsOf(exchange).at(-1)?.response ?? {});
    reply.head(200, SSE);
    for (const piece of cut(bytesOf(exchange))) reply.write(piece);
    reply.end();
  });
