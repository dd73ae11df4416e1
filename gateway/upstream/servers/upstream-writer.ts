import { setImmediate } from 'node:timers/promises';
import { Observable, type Subscriber } from 'rxjs';
import type { BranchWriter, Continuation } from '../../../src/guard/branch.js';
import type { Part } from '../../../src/steps/text-part.js';
import type { DoneEvent, TokenEvent, WrittenEvent } from '../../../src/stream/events.js';
import type { FlowGate } from '../../../src/stream/flow-gate.js';
import type { Tokenizer } from '../../../src/tokenizer/tokenizer.js';
import { Alignment } from '../alignment/alignment.js';
import type { UpstreamPiece, UpstreamRequest, UpstreamResponse, UpstreamToken } from '../upstream.js';
import { continuationOf, stoppedAcross } from './continuation.js';
import { ReportedParts } from './reported-parts.js';
import { isText } from './upstream-request.js';
import type { UpstreamServer } from './upstream-server.js';

/** Characters that are tokenised or passed on at once: what else the process does comes in between. */
const CHARACTERS_AT_ONCE = 4096;
/** A short token takes as much time as so many characters. */
const TOKEN_CHARACTERS = 16;
const PART = /.{1,4096}/gsu;

/** A server that has begun to answer. */
export interface Opened {
  readonly server: Pick<UpstreamServer, 'open'>;
  readonly answer: UpstreamResponse;
}

export interface UpstreamWriterOptions {
  readonly request: UpstreamRequest;
  /** The scorer's: tokens are those of its vocabulary. `null` without a scorer: tokens are those that the server sends. */
  readonly tokenizer: Tokenizer | null;
  /** The prompt as the server read it; `null` if its ids are unknown. */
  readonly promptIds: readonly number[] | null;
  /** The same as text; `null` if it is not known, or would be read as other tokens. */
  readonly prompt: string | null;
  /** Tokens that the response may have, counted as `tokenizer` says. */
  readonly room: number;
  /** Aborted when the response is not needed any more. */
  readonly signal: AbortSignal;
}

/** Text before the tokens that a writer draws. */
interface Past {
  /** Tokens that stay. */
  readonly keep: number;
  /** Tokens that it may draw. */
  readonly left: number;
}

/** A server writes. Each continuation is a request of its own to the same server, which is sent the text so far. */
export class UpstreamWriter implements BranchWriter {
  readonly #options: UpstreamWriterOptions;
  readonly #opened: Opened;
  readonly #past: Past;
  #written = 0;
  #cut = false;
  /** Whether it wrote something else than text, or text whose tokens are unknown. */
  #hidden = false;
  /** Text of all tokens; `null` where parts that are in none pass. */
  readonly #reported: ReportedParts | null;
  /** Parts of tokens that the scorer cannot take. */
  readonly #unknown = new Set<Part>();

  constructor(opened: Opened, options: UpstreamWriterOptions, past: Past = { keep: 0, left: options.room }) {
    this.#options = options;
    this.#opened = opened;
    this.#past = past;
    this.#reported = options.request.knownOnly ? new ReportedParts() : null;
  }

  /** `null` if the server sends the number only at the end, or not at all. */
  get promptTokens(): number | null {
    return this.#options.promptIds?.length ?? null;
  }

  get written(): number {
    return this.#written;
  }

  /** Errors with an UpstreamError or a VocabularyMismatch. */
  tokens(gate: FlowGate): Observable<WrittenEvent> {
    return new Observable((subscriber) => {
      this.#write(gate, subscriber).catch((error: unknown) => subscriber.error(error));
    });
  }

  async #write(gate: FlowGate, subscriber: Subscriber<WrittenEvent>): Promise<void> {
    const { keep, left } = this.#past;
    const { tokenizer, request } = this.#options;
    const reader = tokenizer ? new Alignment(tokenizer, keep > 0 || request.prefix !== undefined) : AS_SENT;
    const turn = turns(gate);
    await gate.opened();
    if (subscriber.closed) return;
    for await (const piece of piecesOf(this.#opened.answer, tokenizer !== null)) {
      this.#hidden ||= piece?.hidden === true || piece?.spelt !== undefined;
      const tokens = piece ? reader.push(piece) : reader.end();
      if (piece?.beside) subscriber.next(this.#beside(piece.beside));
      for (const token of tokens) {
        // One piece of an answer may be all of it.
        const wait = turn(token);
        if (wait) await wait;
        if (subscriber.closed) return;
        // Some servers write more than they were asked for, and a scorer may count other tokens.
        this.#cut = this.#written >= left;
        if (this.#cut) break;
        subscriber.next(this.#token(token));
      }
      if (this.#cut || !piece) break;
      if (!gate.open) await gate.opened();
      if (subscriber.closed) return;
    }
    subscriber.next(this.#done(keep + this.#written));
    subscriber.complete();
  }

  #token(token: UpstreamToken): WrittenEvent {
    const index = this.#past.keep + this.#written;
    this.#written += 1;
    if (this.#options.tokenizer && token.id === null) {
      this.#hidden = true;
      if (token.part) this.#unknown.add(token.part);
    }
    this.#reported?.wrote(token);
    return { ...token, type: 'token.delta', index };
  }

  #beside(beside: NonNullable<UpstreamPiece['beside']>): WrittenEvent {
    const { chunk, unscored } = beside;
    const all = new Set([...unscored, ...this.#unknown, ...(this.#reported?.unscoredIn(chunk) ?? [])]);
    this.#unknown.clear();
    return { ...beside, type: 'upstream.delta', at: this.#past.keep + this.#written, unscored: [...all] };
  }

  /**
   * Nothing fits beside other parts, such as reasoning: a continuation of the text alone would not have read
   * them.
   */
  fits(keep: number): boolean {
    const { request, room } = this.#options;
    return !this.#hidden && isText(request) && keep < room;
  }

  /** @throws UpstreamError; RangeError */
  async fork(
    kept: readonly TokenEvent[],
    { from: keep, temperature, seed }: Continuation,
  ): Promise<UpstreamWriter> {
    const { request, promptIds, prompt, room, signal } = this.#options;
    const { server } = this.#opened;
    if (!this.fits(keep)) throw new RangeError('the continuation leaves no token to write');
    const { maxTokens = room } = request;
    const text = (request.prefix?.text ?? '') + kept.map((token) => token.text).join('');
    const ids = kept.flatMap(({ id }) => id ?? []);
    const known = ids.length === kept.length ? ids : null;
    const continued = continuationOf(request, {
      prefix: {
        text,
        promptIds,
        ids: known,
        raw: request.prompt !== undefined,
        ...(prompt !== null && { prompt }),
      },
      // The server counts these tokens, which may be fewer.
      room: Math.max(1, maxTokens - keep),
      temperature,
      seed,
    });
    const answer = stoppedAcross(await server.open(continued, signal), text, request.stop);
    return new UpstreamWriter({ server, answer }, this.#options, { keep, left: room - keep });
  }

  close(): void {
    this.#opened.answer.cancel();
  }

  /**
   * End of the response. If there is no scorer, usage counts as on the server: to it, the text that it
   * continues is part of the prompt.
   */
  #done(tokens: number): DoneEvent {
    const { keep } = this.#past;
    const end = this.#cut ? { finishReason: 'length' as const, usage: null } : this.#opened.answer.end();
    // The scorer can only count tokens of the text.
    const counted = this.#options.tokenizer && !this.#hidden ? null : end.usage;
    const { promptTokens = null, completionTokens = null } = counted ?? {};
    const usage = {
      promptTokens: promptTokens === null ? this.promptTokens : Math.max(0, promptTokens - keep),
      completionTokens: completionTokens === null ? tokens : keep + completionTokens,
    };
    return { type: 'generation.done', finishReason: end.finishReason, usage };
  }
}

/**
 * The pieces of an answer, one after the other; `null` after the last.
 * @param tokenised whether their text is tokenised: other work of the process comes in between
 */
async function* piecesOf(answer: UpstreamResponse, tokenised: boolean): AsyncGenerator<UpstreamPiece | null> {
  for (let pieces = await answer.read(); pieces; pieces = await answer.read()) {
    for (const [i, piece] of pieces.flatMap(inParts).entries()) {
      if (tokenised && i > 0 && piece.text.length >= CHARACTERS_AT_ONCE) await setImmediate();
      yield piece;
    }
  }
  yield null;
}

/** Lets other work of the process come in between many tokens: `null` for one that may be passed on at once. */
function turns(gate: FlowGate): (token: UpstreamToken) => Promise<unknown> | null {
  let passed = 0;
  return ({ text }) => {
    const isOver = passed >= CHARACTERS_AT_ONCE;
    passed = (isOver ? 0 : passed) + Math.max(TOKEN_CHARACTERS, text.length);
    if (isOver) return setImmediate().then(() => gate.opened());
    return gate.open ? null : gate.opened();
  };
}

/** A long text of which no tokens are known, part by part. */
function inParts(piece: UpstreamPiece): readonly UpstreamPiece[] {
  const { text, tokens, ids, spelt } = piece;
  if (text.length <= CHARACTERS_AT_ONCE || tokens || ids?.length || spelt !== undefined) return [piece];
  const parts = text.match(PART) ?? [];
  return parts.map((part) => ({ ...piece, text: part }));
}

/** Text that the server sends without tokens is one token of which nothing else is known. */
const AS_SENT = {
  push: ({ tokens, text }: UpstreamPiece): readonly UpstreamToken[] =>
    tokens ?? (text === '' ? [] : [unknown(null, text)]),
  end: (): readonly UpstreamToken[] => [],
};

const unknown = (id: number | null, text: string): UpstreamToken => ({
  id,
  text,
  logprob: null,
  topLogprobs: [],
});
