import { VirtualTimeScheduler } from 'rxjs';
import { expect } from 'vitest';
import { type Answer, EMPTY_ANSWER, foldAnswer } from '#client/answer.js';
import type { GenerationEvent, ServerEvent } from '#client/protocol.js';
import type { OpenSocket, SocketHandlers } from '#client/socket.js';

type Draft<Event> = Event extends GenerationEvent ? Omit<Event, 'response_id' | 'offset'> : never;
export type EventDraft = Draft<GenerationEvent>;

/** On an ordinary answer. */
export const VERDICT = {
  advice: 'ordinary',
  flagged: false,
  risk: 0.3,
  rate: 0.02,
  flagged_steps: 0,
  steps: 1,
  unscored_tokens: 0,
  calibrated: true,
  reason: null,
} as const;

export const GUARD = {
  enabled: true,
  methods: ['nll'],
  method: 'nll',
  rate: 0.02,
  delivery: 'immediate',
  action: 'annotate',
} as const;

const RATING = { method: 'nll', score: 0.1, risk: 0.4, calibrated: true } as const;
const SPAN = { step: 0, from: 0, to: 1, text: 'One.' } as const;

/** What the field `flinch` has of an answer of one token and one step. */
export const ONE = {
  token: { index: 0, id: 5, text: 'One.', logprob: -0.1 },
  stepDone: { type: 'step.done', ...SPAN, ...RATING, flagged: false },
  stepFlagged: { type: 'step.flagged', ...SPAN, ...RATING, risk: 0.99, action: 'stop' },
} as const;

/** A chunk of a completion. */
export const flinchChunk = (fields: object = {}) => ({ choices: [], flinch: { tokens: [], ...fields } });

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
  guard: { ...GUARD, methods: ['adversarial', 'nll'], method: 'adversarial' },
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
