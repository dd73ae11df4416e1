import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import type { UpstreamRequest } from '#gateway/upstream/upstream.js';
import { Engine, encodePrompt, type ScorerMismatchEvent } from '#src/index.js';
import { type SocketEvent, TestSocket } from '../gateway.js';
import { type StreamedToken, type streamed, upstreamGateway } from '../upstream-gateway.js';
import { clientOf, open, readAll } from '../upstream-server.js';
import type { Feature, RunningSubject, Subject, SubjectModel } from '../upstream-subjects.js';
import { type Said, said } from './said.js';

/** Messages with an answer that has characters of several tokens. */
export const ODD = [{ role: 'user' as const, content: 'Write five emoji of animals: 🐱🐶' }];

/** A server, asked directly and through flinch. */
export class ContractBench {
  readonly subject: Subject;
  /** Path of a file with this name. */
  readonly path: (name: string) => string;
  readonly #engines = new Map<string, Promise<Engine>>();
  #running: RunningSubject | null = null;

  constructor(subject: Subject, path: (name: string) => string) {
    this.subject = subject;
    this.path = path;
  }

  get model(): SubjectModel {
    return this.subject.model;
  }

  get server(): RunningSubject {
    if (!this.#running) throw new Error('the server does not run');
    return this.#running;
  }

  get messages() {
    return [{ role: 'user' as const, content: this.model.question }];
  }

  get greedy() {
    return { messages: this.messages, temperature: 0, max_tokens: 24 };
  }

  async start(port?: number): Promise<void> {
    this.#running = await this.subject.start(port);
  }

  async close(): Promise<void> {
    for (const engine of this.#engines.values()) await (await engine).close();
    await this.#running?.close();
  }

  /** A point of the contract that a server may not offer. */
  point(feature: Feature, title: string, run: (context: TestContext) => Promise<void>): void {
    const why = this.subject.not[feature];
    if (why) test.skip(`${title} (not offered: ${why})`, run);
    else test(title, run);
  }

  gateway(changes: object = {}, options: Parameters<typeof upstreamGateway>[2] = {}) {
    const { url } = this.server;
    const upstreams = [{ url, model: this.model.name }];
    return upstreamGateway([url], { upstreams, retries: 0, ...changes }, options);
  }

  client(url = this.server.url) {
    return clientOf(url, {}, { model: this.model.name });
  }

  /** Answer of the server, without flinch. */
  async direct(changes: object = {}): Promise<Said> {
    const body = {
      model: this.model.name,
      ...this.greedy,
      stream: true,
      stream_options: { include_usage: true },
      logprobs: true,
      top_logprobs: 1,
      return_token_ids: true,
      ...changes,
    };
    const response = await fetch(`${this.server.url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return said(await response.text());
  }

  /** Answer as flinch reads it, without a guard. */
  async read(changes: Partial<UpstreamRequest> = {}) {
    const sampling = { temperature: 0 };
    const asked = { messages: this.messages, sampling, maxTokens: 24, ...changes };
    const response = await open(this.client(), asked);
    const answer = await readAll(response);
    const tokens = answer.pieces.flatMap(({ tokens }) => tokens ?? []);
    expect(answer.error).toBeNull();
    return { ...answer, tokens, promptIds: response.promptIds, ...response.end() };
  }

  /** A generation over WebSocket, where what was sent can be taken back. */
  async generation(url: string, changes: object): Promise<SocketEvent[]> {
    const socket = await TestSocket.open(url);
    socket.send({ type: 'generation.create', model: 'm', messages: this.messages, ...changes });
    const over = ({ type }: SocketEvent): boolean => type === 'generation.done' || type === 'error';
    while (!socket.events.some(over) && socket.closeCode === null) await setTimeout(20);
    socket.close();
    return socket.events;
  }

  engineOf(checkpoint: string): Promise<Engine> {
    const known = this.#engines.get(checkpoint) ?? Engine.open(checkpoint);
    this.#engines.set(checkpoint, known);
    return known;
  }

  async scorerOf(checkpoint: string) {
    const mismatches: ScorerMismatchEvent[] = [];
    const scorer = await Scorer.open(await this.engineOf(checkpoint), {
      logger: pino({ level: 'silent' }),
      onMismatch: (mismatch) => mismatches.push(mismatch),
    });
    return { scorer, mismatches };
  }

  /** Ids of the prompt by the checkpoint's template. */
  async promptIds(): Promise<readonly number[] | null> {
    const { checkpoint } = this.model;
    if (checkpoint === null) return null;
    return encodePrompt((await this.engineOf(checkpoint)).checkpoint, this.messages);
  }
}

export const textOf = (tokens: readonly { readonly text: string }[]): string =>
  tokens.map(({ text }) => text).join('');

/** Tokens by index, each once. */
export function tokensOf(chunks: Awaited<ReturnType<typeof streamed>>['chunks']) {
  const tokens = new Map<number, StreamedToken>();
  for (const token of chunks.flatMap(({ flinch }) => flinch?.tokens ?? [])) {
    if (!tokens.has(token.index)) tokens.set(token.index, token);
  }
  return [...tokens.values()];
}

/** Tokens that a client has at the end if it applies retractions. */
export function finalTokens(events: readonly SocketEvent[]) {
  const token = z.object({
    index: z.number(),
    id: z.number().nullable(),
    text: z.string(),
    from: z.number(),
  });
  const tokens: { readonly id: number | null; readonly text: string }[] = [];
  for (const event of events) {
    if (event.type === 'token.retracted') tokens.length = token.shape.from.parse(event.from);
    if (event.type === 'token.delta') {
      const { index, id, text } = token.omit({ from: true }).parse(event);
      expect(index).toBe(tokens.length);
      tokens.push({ id, text });
    }
  }
  return tokens;
}
