import { Observable } from 'rxjs';
import type { Branch, Continuation } from '../../src/stream/branch.js';
import type {
  DoneEvent,
  GenerationEvent,
  GuardEvent,
  ScoreEvent,
  TokenEvent,
} from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import type { Judging } from '../../src/stream/guarded-branch.js';
import { TextSoFar } from '../../src/stream/text-so-far.js';
import type { Method } from '../../src/uncertainty/method.js';
import { continuationOf, stoppedAcross } from './continuation.js';
import { logprobScores } from './logprob-scores.js';
import type { UpstreamPiece, UpstreamRequest, UpstreamResponse, UpstreamToken } from './upstream.js';
import type { UpstreamServer } from './upstream-server.js';

/** A server that has begun to answer. */
export interface Opened {
  readonly server: Pick<UpstreamServer, 'open'>;
  readonly answer: UpstreamResponse;
}

export interface UpstreamBranchOptions extends Pick<Judging, 'rate' | 'judge'> {
  readonly request: UpstreamRequest;
  /** That are computed from log-probabilities; none for a text that is not scored. */
  readonly methods: readonly Method[];
  /** Alternatives of each token that are passed on. */
  readonly topLogprobs: number;
  readonly signal: AbortSignal;
}

/** What stands before a branch's own tokens. */
interface Past {
  readonly text: TextSoFar;
  /** Put after it by the guard. */
  readonly insert: string;
  /** As the server has them, where it says so. */
  readonly promptIds: readonly number[] | null;
  /** Tokens that it may write. */
  readonly room: number;
}

/**
 * A branch that a server writes and that its own log-probabilities score. Other continuations are requests of their
 * own to the same server, which is told what stands there already.
 */
export class UpstreamBranch implements Branch {
  readonly #options: UpstreamBranchOptions;
  readonly #opened: Opened;
  readonly #past: Past;
  #written = 0;
  #cut = false;
  #reasoned = false;

  private constructor(opened: Opened, options: UpstreamBranchOptions, past: Past) {
    this.#opened = opened;
    this.#options = options;
    this.#past = past;
  }

  static begin(opened: Opened, options: UpstreamBranchOptions): UpstreamBranch {
    const { promptIds } = opened.answer;
    const room = options.request.maxTokens ?? Number.POSITIVE_INFINITY;
    return new UpstreamBranch(opened, options, { text: TextSoFar.begin(), insert: '', promptIds, room });
  }

  /** 0 where the server tells the number only at the end. */
  get promptTokens(): number {
    return this.#past.promptIds?.length ?? 0;
  }

  get written(): number {
    return this.#written;
  }

  events(gate: FlowGate): Observable<GuardEvent> {
    const { rate, judge } = this.#options;
    return this.#past.text.follow(() => this.#read(gate).pipe(rate), judge);
  }

  /**
   * The server's tokens cannot be counted here: those of the insertion are taken for short ones. After reasoning that
   * is kept apart nothing fits, for what goes on from the text alone would not have read it.
   */
  fits(keep: number, insert: string): boolean {
    return !this.#reasoned && this.#room(keep, insert) > 0;
  }

  /** @throws RangeError; UpstreamError */
  async fork({ keep, step, from, insert = '', temperature, seed }: Continuation): Promise<UpstreamBranch> {
    const { request, signal } = this.#options;
    const { server } = this.#opened;
    const { promptIds } = this.#past;
    if (!this.fits(keep, insert)) throw new RangeError('the continuation leaves no tokens to write');
    const room = this.#room(keep, insert);
    const text = this.#past.text.upTo({ keep, step, from });
    const ids = insert === '' ? text.tokens.flatMap(({ id }) => id ?? []) : [];
    const begun = {
      text: text.tokens.map((token) => token.text).join('') + insert,
      promptIds,
      ids: insert === '' && ids.length === keep ? ids : null,
    };
    const continued = continuationOf(request, { begun, room, temperature, seed });
    const answer = stoppedAcross(await server.open(continued, signal), begun.text, request.stop);
    return new UpstreamBranch({ server, answer }, this.#options, { text, insert, promptIds, room });
  }

  close(): void {
    this.#opened.answer.cancel();
  }

  #room(keep: number, insert: string): number {
    const { maxTokens = Number.POSITIVE_INFINITY } = this.#options.request;
    return maxTokens - keep - Math.ceil(insert.length / 2);
  }

  #read(gate: FlowGate): Observable<GenerationEvent> {
    return new Observable((subscriber) => {
      const { text, insert } = this.#past;
      let index = text.keep;
      const emit = (token: UpstreamToken, inserted: boolean): void => {
        subscriber.next(this.#tokenEvent(token, index, inserted));
        if (this.#options.methods.length > 0) subscriber.next(this.#scoreEvent(token, index));
        index += 1;
      };
      const read = async (): Promise<void> => {
        if (insert !== '') emit(untold(insert), true);
        for await (const piece of this.#opened.answer.pieces) {
          if (!gate.open) await gate.opened();
          this.#reasoned ||= piece.thinking ?? false;
          for (const token of tokensOf(piece)) {
            if (subscriber.closed) return;
            // Some do not stop where they were asked to.
            this.#cut = this.#written >= this.#past.room;
            if (this.#cut) break;
            this.#written += 1;
            emit(token, false);
          }
          if (this.#cut) break;
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
    const { keep } = this.#past.text;
    const { finishReason, usage } = this.#cut
      ? { finishReason: 'length' as const, usage: null }
      : this.#opened.answer.end();
    const counted = usage ?? { promptTokens: this.promptTokens + keep, completionTokens: tokens - keep };
    return {
      type: 'generation.done',
      finishReason,
      usage: {
        promptTokens: Math.max(0, counted.promptTokens - keep),
        completionTokens: keep + counted.completionTokens,
      },
    };
  }
}

/** What a server does not tell apart is one token of which nothing is known. */
const tokensOf = ({ tokens, text }: UpstreamPiece): readonly UpstreamToken[] =>
  tokens ?? (text === '' ? [] : [untold(text)]);

const untold = (text: string): UpstreamToken => ({ id: null, text, bytes: null, logprob: null, top: [] });
