import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { type Config, type ConfigInput, configSchema } from '#gateway/config/gateway-config.js';
import { CONNECTION_BOUNDS, type ConnectionBounds } from '#gateway/connection-bounds.js';
import { EngineModel, type Gateway, Models, type ServedModel, startGateway } from '#gateway/index.js';
import type { Engine } from '#src/index.js';
import { REASONER } from './golden.js';
import { QUESTION } from './requests.js';
import { openShared } from './shared-engines.js';
import { checkEvent } from './strict-event.js';

/** The parts of the configuration that a test changes; the others have their defaults. */
export interface SettingsChanges {
  readonly limits?: Partial<Config['limits']>;
  readonly streams?: Partial<Config['streams']>;
  readonly access?: NonNullable<ConfigInput['access']>;
  readonly guard?: NonNullable<ConfigInput['guard']>;
  readonly bounds?: Partial<ConnectionBounds>;
}

export const settingsWith = ({ bounds, ...changes }: SettingsChanges = {}) => ({
  ...configSchema.parse(changes),
  bounds: { ...CONNECTION_BOUNDS, ...bounds },
});

interface GatewayChoices {
  readonly settings?: SettingsChanges;
  readonly maxStreams?: number;
  /** Wraps the model that requests use. */
  readonly wrap?: (model: ServedModel) => ServedModel;
}

/** A gateway with the embedded model, or that of another folder, for the tests of one file. */
export function useGateway(
  folder: () => Promise<string> = async () => REASONER,
  { settings, maxStreams, wrap = (model) => model }: GatewayChoices = {},
) {
  const running: { engine?: Engine; gateway?: Gateway } = {};
  beforeAll(async () => {
    running.engine = await openShared(await folder(), { ...(maxStreams !== undefined && { maxStreams }) });
    await running.engine.start();
    const models = new Models([wrap(await EngineModel.open('reasoner', running.engine))]);
    const { bounds = {}, ...config } = settings ?? {};
    running.gateway = await startGateway({ models, config: { ...config, listen: { port: 0 } }, bounds });
  });
  afterAll(async () => {
    await running.gateway?.close();
  });
  return {
    get url() {
      return running.gateway!.url;
    },
    get metricsUrl() {
      return running.gateway!.metricsUrl;
    },
    get engine() {
      return running.engine!;
    },
    /** The same gateway on a Unix socket, whose buffers are small: a client that does not read is soon felt. */
    async unixPath(): Promise<string> {
      return unixEntrance(running.gateway!);
    },
    /** Waits until no response is under way. */
    async idle(): Promise<void> {
      for (let i = 0; i < 3000 && running.engine!.status().streams > 0; i++) await setTimeout(10);
      expect(running.engine!.status().streams).toBe(0);
    },
  };
}

/** A way into a gateway by a Unix socket, until the test is over. */
export async function unixEntrance({ server }: Pick<Gateway, 'server'>): Promise<string> {
  const path = join(mkdtempSync(join(tmpdir(), 'flinch-')), 'gateway');
  const entrance = createServer((connection) => server.emit('connection', connection));
  await new Promise<void>((resolve) => entrance.listen(path, resolve));
  entrance.unref();
  onTestFinished(() => {
    entrance.close();
    rmSync(dirname(path), { recursive: true });
  });
  return path;
}

/** A greedy question to the embedded model; `changes` replaces fields. */
export const chatBody = (changes: object = {}) => ({
  model: 'reasoner',
  temperature: 0,
  messages: [{ role: 'user', content: QUESTION }],
  ...changes,
});

export async function post(url: string, body: unknown): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** A token as `flinch.tokens` has it. */
export const token = z.object({
  index: z.number(),
  id: z.number(),
  text: z.string(),
  logprob: z.number(),
  scores: z.record(z.string(), z.number()).optional(),
  skipped: z.array(z.string()).optional(),
  rival: z.object({ id: z.number(), text: z.string(), before: z.number(), after: z.number() }).optional(),
});
export type WireToken = z.output<typeof token>;

/** Fields of `flinch.verdict` that most tests look at. */
const verdict = z.looseObject({ flagged: z.boolean().nullable(), risk: z.number().nullable() });

const chunk = z.object({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  model: z.literal('reasoner'),
  choices: z.array(
    z.object({
      index: z.literal(0),
      delta: z.object({ role: z.string().optional(), content: z.string().optional() }),
      finish_reason: z.string().nullable(),
    }),
  ),
  flinch: z.object({ tokens: z.array(token), verdict: verdict.optional() }).optional(),
  usage: z.record(z.string(), z.unknown()).nullish(),
});
export type Chunk = z.output<typeof chunk>;

/** The `data:` of a Server-Sent Events body, as it comes. */
export async function* sseData(response: Response): AsyncGenerator<string> {
  const waiting: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => waiting.push(data) });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    yield* waiting.splice(0);
  }
}

export async function readChunks(response: Response): Promise<{ chunks: Chunk[]; done: boolean }> {
  const chunks: Chunk[] = [];
  let done = false;
  for await (const data of sseData(response)) {
    expect(done).toBe(false);
    if (data === '[DONE]') done = true;
    else chunks.push(chunk.parse(JSON.parse(data)));
  }
  return { chunks, done };
}

/** Tokens of the chunks: each time with all that is known of them. */
export function mergeTokens(chunks: readonly Chunk[]): WireToken[] {
  const tokens: WireToken[] = [];
  for (const part of chunks.flatMap(({ flinch }) => flinch?.tokens ?? [])) {
    tokens[part.index] = part;
  }
  return tokens;
}

const event = z.looseObject({
  type: z.string(),
  response_id: z.string().optional(),
  request_id: z.string().optional(),
  offset: z.number().optional(),
  error: z.looseObject({ code: z.string(), param: z.string().nullable(), message: z.string() }).optional(),
});
export type SocketEvent = z.output<typeof event>;

export const ofType = (type: string) => (event: SocketEvent) => event.type === type;

/** A connection that speaks flinch.v1 and records all events; each is checked against the protocol's schema. */
export class TestSocket {
  readonly events: SocketEvent[] = [];
  closeCode: number | null = null;
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => {
      const heard = event.parse(JSON.parse(data.toString()));
      this.events.push(heard);
      checkEvent(heard);
    });
    socket.on('close', (code) => {
      this.closeCode = code;
    });
  }

  /** @param url `http://…` or `http+unix:PATH:` */
  static async open(url: string, headers: Record<string, string> = {}): Promise<TestSocket> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream`, 'flinch.v1', { headers });
    const test = new TestSocket(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return test;
  }

  send(message: unknown): void {
    this.#socket.send(
      typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message),
    );
  }

  /** The first part of a message. */
  begin(part: string): void {
    this.#socket.send(part, { fin: false });
  }

  ping(): void {
    this.#socket.ping();
  }

  /** Sends a pong without a ping. */
  pong(): void {
    this.#socket.pong();
  }

  /** Closes the connection; without a code it is cut. */
  close(code?: number): void {
    if (code === undefined) this.#socket.terminate();
    else this.#socket.close(code);
  }

  /** Stops reading, as a slow client does. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Waits for the first event, past or future, that fits. */
  async event(fits: (event: SocketEvent) => boolean): Promise<SocketEvent> {
    for (let i = 0; i < 3000; i++) {
      const found = this.events.find(fits);
      if (found) return found;
      await setTimeout(10);
    }
    const seen = this.events.map(({ type, error }) => (error ? `${type} ${JSON.stringify(error)}` : type));
    throw new Error(`no such event among ${seen}`);
  }
}
