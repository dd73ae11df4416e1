import { setImmediate } from 'node:timers/promises';
import { Observable } from 'rxjs';
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

  constructor(opened: Opened, options: UpstreamWriterOptions, past: Past = { keep: 0, left: options.room }) {
    this.#options = options;
    this.#opened = opened;
    this.#past = past;
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
    const { keep, left } = this.#past;
    const { tokenizer, request } = this.#options;
    return new Observable((subscriber) => {
      const read = async (): Promise<void> => {
        const reader = tokenizer
          ? new Alignment(tokenizer, keep > 0 || request.prefix !== undefined)
          : AS_SENT;
        /** Parts of tokens that the scorer cannot take. */
        const unknown = new Set<Part>();
        const reported = request.knownOnly ? new ReportedParts() : null;
        let index = keep;
        let tokens: readonly UpstreamToken[] = [];
        let pieces: readonly UpstreamPiece[] = [];
        let at = 0;
        let passed = 0;
        for (let over = false; ; ) {
          for (const token of tokens) {
            if (passed >= CHARACTERS_AT_ONCE) {
              await setImmediate();
              passed = 0;
            }
            passed += Math.max(TOKEN_CHARACTERS, token.text.length);
            // One piece of an answer may be all of it.
            if (!gate.open) await gate.opened();
            if (subscriber.closed) return;
            // Some servers write more than they were asked for, and a scorer may count other tokens.
            this.#cut = index >= keep + left;
            if (this.#cut) break;
            this.#written += 1;
            if (tokenizer && token.id === null) {
              this.#hidden = true;
              if (token.part) unknown.add(token.part);
            }
            reported?.wrote(token);
            subscriber.next({ ...token, type: 'token.delta', index });
            index += 1;
          }
          if (over || this.#cut) break;
          if (!gate.open) await gate.opened();
          if (subscriber.closed) return;
          if (at === pieces.length) {
            pieces = ((await this.#opened.answer.read()) ?? []).flatMap(inParts);
            at = 0;
          } else if (tokenizer && (pieces[at]?.text.length ?? 0) >= CHARACTERS_AT_ONCE) {
            await setImmediate();
          }
          const piece = pieces[at++];
          over = !piece;
          this.#hidden ||= piece?.hidden === true || piece?.spelt !== undefined;
          tokens = piece ? reader.push(piece) : reader.end();
          if (piece?.beside) {
            const { chunk, unscored } = piece.beside;
            const all = [...new Set([...unscored, ...unknown, ...(reported?.unscoredIn(chunk) ?? [])])];
            subscriber.next({ ...piece.beside, type: 'upstream.delta', at: index, unscored: all });
            unknown.clear();
          }
        }
        subscriber.next(this.#done(index));
        subscriber.complete();
      };
      read().catch((error: unknown) => subscriber.error(error));
    });
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
