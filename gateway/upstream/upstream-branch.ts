import { concat, filter, from, Observable, tap } from 'rxjs';
import type { Branch, Continuation } from '../../src/stream/branch.js';
import type {
  DoneEvent,
  GenerationEvent,
  GuardEvent,
  ScoreEvent,
  TokenEvent,
} from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import type { Judging, Place } from '../../src/stream/guarded-branch.js';
import type { Method } from '../../src/uncertainty/method.js';
import { logprobScores } from './logprob-scores.js';
import type { UpstreamServer } from './server.js';
import type { UpstreamAnswer, UpstreamPiece, UpstreamRequest, UpstreamToken } from './upstream.js';

/** A server that has begun to answer. */
export interface Opened {
  readonly server: Pick<UpstreamServer, 'open'>;
  readonly answer: UpstreamAnswer;
}

export interface UpstreamBranchOptions extends Pick<Judging, 'rate' | 'judge'> {
  readonly request: UpstreamRequest;
  /** That are computed from log-probabilities; none for a text that is not scored. */
  readonly methods: readonly Method[];
  /** Alternatives of each token that are passed on. */
  readonly topLogprobs: number;
  readonly signal: AbortSignal;
}

interface Past {
  readonly place: Place;
  /** Of the whole response: what others wrote first. */
  readonly tokens: TokenEvent[];
  readonly scores: ScoreEvent[];
  /** Put after them by the guard. */
  readonly insert: string;
}

/**
 * A branch that a server writes and that its own log-probabilities score. Other continuations are requests of their
 * own to the same server, which is told what stands there already.
 */
export class UpstreamBranch implements Branch {
  readonly #options: UpstreamBranchOptions;
  readonly #opened: Opened;
  readonly #past: Past;
  readonly #keep: number;
  readonly #tokens: TokenEvent[];
  readonly #scores: ScoreEvent[];
  #written = 0;

  constructor(
    opened: Opened,
    options: UpstreamBranchOptions,
    past: Past = { place: { step: 0, from: 0 }, tokens: [], scores: [], insert: '' },
  ) {
    this.#opened = opened;
    this.#options = options;
    this.#past = past;
    this.#keep = past.tokens.length;
    this.#tokens = past.tokens;
    this.#scores = past.scores;
  }

  /** 0 where the server tells the number only at the end. */
  get promptTokens(): number {
    return this.#opened.answer.promptIds?.length ?? 0;
  }

  get written(): number {
    return this.#written;
  }

  events(gate: FlowGate): Observable<GuardEvent> {
    const { place } = this.#past;
    const { rate, judge } = this.#options;
    // What others wrote of the step counts in its verdict, and is not said again.
    const kept = [...this.#tokens.slice(place.from), ...this.#scores.slice(place.from)];
    const again = new Set<GuardEvent>(kept);
    const live = this.#read(gate).pipe(
      rate,
      tap((event) => {
        if (event.type === 'token.delta') this.#tokens[event.index] = event;
        if (event.type === 'score.delta') this.#scores[event.index] = event;
      }),
    );
    return concat(from<GenerationEvent[]>(kept), live).pipe(
      judge(place),
      filter((event) => !again.has(event) && !(event.type === 'spike.detected' && event.index < this.#keep)),
    );
  }

  /** The server's tokens cannot be counted here: those of the insertion are taken for short ones. */
  fits(keep: number, insert: string): boolean {
    return this.#room(keep, insert) > 0;
  }

  async fork({ keep, step, from, insert = '', temperature, seed }: Continuation): Promise<UpstreamBranch> {
    const { request, signal } = this.#options;
    const { answer, server } = this.#opened;
    const room = this.#room(keep, insert);
    if (room < 1) throw new RangeError('the continuation leaves no token to write');
    const tokens = this.#tokens.slice(0, keep);
    const ids = insert === '' ? tokens.flatMap(({ id }) => id ?? []) : [];
    const continued: UpstreamRequest = {
      ...request,
      sampling: {
        ...request.sampling,
        // Servers differ in which seeds they take; all take those of 31 bits.
        seed: seed & 0x7fffffff,
        ...(temperature !== undefined && { temperature }),
      },
      ...(request.maxTokens !== undefined && { maxTokens: room }),
      begun: {
        text: tokens.map(({ text }) => text).join('') + insert,
        promptIds: answer.promptIds,
        ids: insert === '' && ids.length === keep ? ids : null,
      },
    };
    const opened = { server, answer: await server.open(continued, signal) };
    // The ids of the prompt are those of the first request: here the answer that has begun is among them.
    const known = { ...opened, answer: withPrompt(opened.answer, answer.promptIds) };
    const scores = this.#scores.slice(0, keep);
    return new UpstreamBranch(known, this.#options, { place: { step, from }, tokens, scores, insert });
  }

  close(): void {
    this.#opened.answer.cancel();
  }

  #room(keep: number, insert: string): number {
    const { maxTokens = Number.POSITIVE_INFINITY } = this.#options.request;
    return maxTokens - keep - Math.ceil(insert.length / 2);
  }

  #read(gate: FlowGate): Observable<GenerationEvent> {
    const { answer } = this.#opened;
    return new Observable((subscriber) => {
      let index = this.#keep;
      const emit = (token: UpstreamToken, inserted: boolean): void => {
        subscriber.next(this.#tokenEvent(token, index, inserted));
        if (this.#options.methods.length > 0) subscriber.next(this.#scoreEvent(token, index));
        index += 1;
      };
      const read = async (): Promise<void> => {
        if (this.#past.insert !== '') emit(untold(this.#past.insert), true);
        for await (const piece of answer.pieces) {
          if (!gate.open) await gate.opened();
          for (const token of tokensOf(piece)) {
            if (subscriber.closed) return;
            this.#written += 1;
            emit(token, false);
          }
        }
        subscriber.next(this.#doneEvent(index));
        subscriber.complete();
      };
      read().catch((error: unknown) => subscriber.error(error));
    });
  }

  #tokenEvent({ id, text, logprob, top }: UpstreamToken, index: number, inserted: boolean): TokenEvent {
    const topLogprobs = top.slice(0, this.#options.topLogprobs);
    return { type: 'token.delta', index, id, text, logprob, topLogprobs, ...(inserted && { inserted }) };
  }

  #scoreEvent(token: UpstreamToken, index: number): ScoreEvent {
    const { scores, missing } = logprobScores(token, this.#options.methods);
    const rest = missing.length > 0 ? { missing } : {};
    return { type: 'score.delta', index, pass: 'stream', scores, skipped: [], rival: null, ...rest };
  }

  /** As the server counts; what stood there already is part of its prompt. */
  #doneEvent(tokens: number): DoneEvent {
    const { finishReason, usage } = this.#opened.answer.end();
    const counted = usage ?? {
      promptTokens: this.promptTokens + this.#keep,
      completionTokens: tokens - this.#keep,
    };
    return {
      type: 'generation.done',
      finishReason,
      usage: {
        promptTokens: Math.max(0, counted.promptTokens - this.#keep),
        completionTokens: this.#keep + counted.completionTokens,
      },
    };
  }
}

function withPrompt(answer: UpstreamAnswer, promptIds: readonly number[] | null): UpstreamAnswer {
  const { capabilities, pieces } = answer;
  return { capabilities, pieces, promptIds, end: () => answer.end(), cancel: () => answer.cancel() };
}

/** What a server does not tell apart is one token of which nothing is known. */
const tokensOf = ({ tokens, text }: UpstreamPiece): readonly UpstreamToken[] =>
  tokens ?? (text === '' ? [] : [untold(text)]);

const untold = (text: string): UpstreamToken => ({ id: null, text, bytes: null, logprob: null, top: [] });
