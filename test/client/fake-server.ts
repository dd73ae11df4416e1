import { VirtualTimeScheduler } from 'rxjs';
import { expect } from 'vitest';
import { type Answer, EMPTY_ANSWER, foldAnswer } from '#client/answer.js';
import type { GenerationEvent, ServerEvent } from '#client/protocol.js';
import type { OpenSocket, SocketHandlers } from '#client/socket.js';

type Draft<Event> = Event extends GenerationEvent ? Omit<Event, 'response_id' | 'offset'> : never;
export type EventDraft = Draft<GenerationEvent>;

/** One connection as the server sees it. */
export class FakeSocket {
  readonly received: unknown[] = [];
  closedWith: number | null = null;
  readonly #handlers: SocketHandlers;

  constructor(handlers: SocketHandlers) {
    this.#handlers = handlers;
  }

  open(): this {
    this.#handlers.open();
    return this;
  }

  say(...messages: (ServerEvent | Record<string, unknown>)[]): void {
    for (const message of messages) this.#handlers.message(JSON.stringify(message));
  }

  sayText(text: string | null): void {
    this.#handlers.message(text);
  }

  close(code: number, reason = ''): void {
    this.#handlers.close({ code, reason });
  }
}

/** Sockets that a test opens and closes by hand, in virtual time. */
export class FakeServer {
  readonly sockets: FakeSocket[] = [];
  readonly scheduler = new VirtualTimeScheduler();

  readonly openSocket: OpenSocket = (handlers) => {
    const socket = new FakeSocket(handlers);
    this.sockets.push(socket);
    return {
      send: (text) => socket.received.push(JSON.parse(text)),
      close: (code) => {
        socket.closedWith = code;
      },
    };
  };

  /** The latest connection. */
  get socket(): FakeSocket {
    const socket = this.sockets.at(-1);
    expect(socket).toBeDefined();
    return socket!;
  }

  /** Lets time pass. */
  advance(ms: number): void {
    const until = this.scheduler.frame + ms;
    this.scheduler.maxFrames = until;
    this.scheduler.flush();
    this.scheduler.frame = until;
  }
}

export const created = (requestId = 'request-0', changes: object = {}): EventDraft => ({
  type: 'generation.created',
  request_id: requestId,
  created: 1_700_000_000,
  model: 'reasoner',
  prompt_tokens: 5,
  guard: {
    enabled: true,
    methods: ['adversarial', 'nll'],
    method: 'adversarial',
    rate: 0.02,
    delivery: 'immediate',
    action: 'annotate',
  },
  epoch: 'epoch-1',
  resumable: true,
  ...changes,
});

export const token = (index: number, text: string, changes: object = {}): EventDraft => ({
  type: 'token.delta',
  index,
  id: 100 + index,
  text,
  logprob: -0.5,
  ...changes,
});

export const score = (index: number, nll: number, changes: object = {}): EventDraft => ({
  type: 'score.delta',
  index,
  pass: 'stream',
  scores: { nll },
  ...changes,
});

const rating = { method: 'nll', score: 2, risk: 0.99, calibrated: true } as const;
const span = { step: 0, from: 0, to: 2, text: 'So 4' };

export const flagged = (changes: object = {}): EventDraft => ({
  type: 'step.flagged',
  ...span,
  ...rating,
  action: 'rollback',
  ...changes,
});

export const settled = (changes: object = {}): EventDraft => ({
  type: 'step.done',
  ...span,
  ...rating,
  flagged: true,
  ...changes,
});

export const done: EventDraft = {
  type: 'generation.done',
  finish_reason: 'stop',
  usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
};

/** The events of one generation as the server numbers them. */
export const numbered = (drafts: readonly EventDraft[], responseId = 'resp-1'): GenerationEvent[] =>
  drafts.map((draft, offset) => ({ ...draft, response_id: responseId, offset }));

/** A generation with a rollback, whole. */
export const rolledBack = (): GenerationEvent[] =>
  numbered([
    created(),
    token(0, 'So'),
    token(1, ' 4'),
    token(2, '.'),
    score(0, 0.1),
    score(1, 2),
    flagged(),
    { type: 'rollback.started', rollback: 0, step: 0, from: 1, candidates: 2 },
    { type: 'token.retracted', from: 1, tokens: 2 },
    token(1, ' 5'),
    score(1, 0.3),
    {
      type: 'rollback.done',
      rollback: 0,
      step: 0,
      outcome: 'replaced',
      chosen: 2,
      candidates: [
        { text: 'So 4', tokens: 2, score: 1 },
        { text: 'So 6', tokens: 2, score: 0.9 },
        { text: 'So 5', tokens: 2, score: 0.2 },
      ],
    },
    settled({ flagged: false, text: 'So 5' }),
    token(2, '!'),
    done,
  ]);

/** The answer after these events. */
export const play = (events: readonly GenerationEvent[]): Answer => events.reduce(foldAnswer, EMPTY_ANSWER);

/** Three tokens: the first scored but for a method that was skipped, the second scored, the third not yet. */
export const SCORED = numbered([
  created(),
  token(0, 'So'),
  token(1, ' 4'),
  token(2, '.\n'),
  score(0, 0.1, { skipped: ['adversarial'] }),
  score(1, 2),
]);
