import { concat, concatMap, defer, from, map, type Observable, of, takeWhile, tap } from 'rxjs';
import type { Engine } from '../../src/engine/engine.js';
import type { Branch, Continuation } from '../../src/stream/branch.js';
import type { DoneEvent, GuardEvent, TokenEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import type { Judging } from '../../src/stream/guarded-branch.js';
import { modelId, score, type TokenScorer } from '../../src/stream/score.js';
import { TextSoFar } from '../../src/stream/text-so-far.js';
import { Retokenizer, type WrittenToken } from '../../src/tokenizer/retokenizer.js';
import { blockOf } from '../../src/uncertainty/schedule.js';
import { SequenceScorer, type TokenScore } from '../../src/uncertainty/sequence-scorer.js';
import type { Scoring } from '../../src/uncertainty/settings.js';
import { ApiError } from '../errors/api-error.js';
import type { GenerationAgreement } from './agreement.js';
import { Alignment } from './alignment.js';
import { continuationOf, stoppedAcross } from './continuation.js';
import { readAnswer } from './read-answer.js';
import type { UpstreamRequest, UpstreamResponse } from './upstream.js';
import type { Opened } from './upstream-branch.js';

export interface ScoredBranchOptions extends Judging {
  /** The same weights; only its score side is used. */
  readonly engine: Engine;
  /** Asks for the response. */
  readonly ask: () => Promise<Opened>;
  readonly request: Omit<UpstreamRequest, 'begun'>;
  /** By the scorer's template; `null` where it has none: then the server tells them. */
  readonly promptIds: readonly number[] | null;
  /** The same as text. */
  readonly prompt: string | null;
  readonly scoring: Scoring;
  readonly agreement: GenerationAgreement;
  /** Aborted when nobody wants the response any more. */
  readonly signal: AbortSignal;
}

interface Shared {
  readonly options: ScoredBranchOptions;
  /** The one that answered: it is asked for the continuations too. */
  readonly server: Opened['server'];
  /** As the server has them, where it says so. */
  readonly promptIds: readonly number[];
  /** Tokens of the response that there is room for. */
  readonly room: number;
}

/** A branch that a server writes and a checkpoint of the same weights scores. Each continuation is a request of its own. */
export class ScoredUpstreamBranch implements Branch {
  readonly #shared: Shared;
  readonly #answer: UpstreamResponse;
  readonly #scorer: SequenceScorer;
  readonly #text: TextSoFar;
  readonly #inserted: readonly WrittenToken[];
  /** Log-probabilities of its own tokens, as the server says. */
  readonly #told = new Map<number, number | null>();
  #written = 0;
  #cut = false;

  private constructor(
    shared: Shared,
    answer: UpstreamResponse,
    scorer: SequenceScorer,
    text: TextSoFar,
    inserted: readonly WrittenToken[] = [],
  ) {
    this.#shared = shared;
    this.#answer = answer;
    this.#scorer = scorer;
    this.#text = text;
    this.#inserted = inserted;
  }

  /** @throws EngineError; SettingsError; UpstreamError; ApiError where nobody knows the ids of the prompt */
  static async open(options: ScoredBranchOptions): Promise<ScoredUpstreamBranch> {
    const { ask, promptIds } = options;
    // The scorer first: for a text that cannot be scored no server is asked.
    const scorer = promptIds && (await openScorer(options, promptIds));
    const opened: (() => void)[] = scorer ? [() => scorer.close()] : [];
    try {
      const { server, answer } = await ask();
      opened.push(() => answer.cancel());
      const actual = answer.promptIds ?? promptIds;
      if (!actual) throw new RangeError('promptIds: known neither to the server nor to the scorer');
      const shared = { options, server, promptIds: actual, room: roomOf(options, actual) };
      if (scorer && sameIds(actual, promptIds)) {
        return new ScoredUpstreamBranch(shared, answer, scorer, TextSoFar.begin());
      }
      // The server's template says something else than the scorer's: what it was asked is what counts.
      scorer?.close();
      return new ScoredUpstreamBranch(shared, answer, await openScorer(options, actual), TextSoFar.begin());
    } catch (error) {
      for (const close of opened) close();
      throw error;
    }
  }

  get promptTokens(): number {
    return this.#shared.promptIds.length;
  }

  get written(): number {
    return this.#written;
  }

  events(gate: FlowGate): Observable<GuardEvent> {
    const { scoring, rate, judge } = this.#shared.options;
    const live = (begins: (text: string) => boolean) =>
      this.#tokens(gate).pipe(
        score({
          open: async () => this.#tokenScorer(),
          block: blockOf(scoring.schedule),
          gate,
          from: this.#text.keep,
          begins,
        }),
        rate,
      );
    return this.#text.follow(live, judge);
  }

  fits(keep: number, insert: string): boolean {
    return keep + this.#encode(insert).length < this.#shared.room;
  }

  async fork({ keep, step, from, insert, temperature, seed }: Continuation): Promise<ScoredUpstreamBranch> {
    const { options, server, promptIds, room } = this.#shared;
    const { request, prompt, signal } = options;
    const inserted = insert === undefined ? [] : this.#encode(insert);
    const left = room - keep - inserted.length;
    if (left < 1)
      throw new RangeError(`keep: ${keep} and ${inserted.length} given tokens leave none to write`);
    const text = this.#text.upTo({ keep, step, from });
    const begun = [...text.tokens.map((token) => ({ id: modelId(token), text: token.text })), ...inserted];
    const scorer = await this.#scorer.fork(keep);
    try {
      const before = begun.map((token) => token.text).join('');
      const continued = continuationOf(request, {
        begun: {
          ...{ text: before, promptIds, ids: begun.map(({ id }) => id) },
          ...(prompt !== null && { prompt }),
        },
        // Of the tokens that it counts, which may be fewer.
        room: Math.max(1, (request.maxTokens ?? left) - begun.length),
        temperature,
        seed,
      });
      const answer = stoppedAcross(await server.open(continued, signal), before, request.stop);
      return new ScoredUpstreamBranch(this.#shared, answer, scorer, text, inserted);
    } catch (error) {
      scorer.close();
      throw error;
    }
  }

  close(): void {
    this.#answer.cancel();
    this.#scorer.close();
  }

  #encode(insert: string): WrittenToken[] {
    const written = new Retokenizer(this.#shared.options.engine.checkpoint.tokenizer, true);
    return [...written.push(insert), ...written.end()];
  }

  /** Its own tokens, those that are given first, and why they end. */
  #tokens(gate: FlowGate): Observable<TokenEvent | DoneEvent> {
    const { room, options } = this.#shared;
    const { topLogprobs } = options.request;
    const { keep } = this.#text;
    const begun = keep + this.#inserted.length;
    const alignment = new Alignment(options.engine.checkpoint.tokenizer, begun > 0);
    const given = this.#inserted.map(
      ({ id, text }, i): TokenEvent => ({
        ...{ type: 'token.delta', index: keep + i, id, text, logprob: null, topLogprobs: [] },
        inserted: true,
      }),
    );
    let index = begun;
    const drawn = readAnswer(this.#answer, alignment, gate).pipe(
      // A server counts other tokens than the scorer where its text is tokenised anew, or it has more room.
      takeWhile(() => {
        this.#cut = index >= room;
        return !this.#cut;
      }),
      map(({ id, text, logprob, top }): TokenEvent => {
        this.#told.set(index, logprob);
        return {
          type: 'token.delta',
          index: index++,
          id,
          text,
          logprob,
          topLogprobs: top.slice(0, topLogprobs),
        };
      }),
    );
    // A long insertion, too, waits for its scores.
    const paced = from(given).pipe(
      concatMap(async (token) => {
        await gate.opened();
        return token;
      }),
    );
    const own = concat(paced, drawn).pipe(tap(() => (this.#written += 1)));
    return concat(
      own,
      defer(() => of(this.#done(index))),
    );
  }

  #done(tokens: number): DoneEvent {
    const usage = { promptTokens: this.promptTokens, completionTokens: tokens };
    const finishReason = this.#cut ? 'length' : this.#answer.end().finishReason;
    return { type: 'generation.done', finishReason, usage };
  }

  /** By the model, beside what the server says of the same tokens. */
  #tokenScorer(): TokenScorer {
    const { agreement } = this.#shared.options;
    const compared = async (passes: Promise<TokenScore[]>): Promise<TokenScore[]> => {
      const scores = await passes;
      for (const { index, logprob } of scores) agreement.compare(logprob, this.#told.get(index) ?? null);
      return scores;
    };
    return {
      // Without the server's log-probabilities: the scorer's own tell which tokens are doubtful.
      push: (next) =>
        compared(
          this.#scorer.push(next.map(({ token, begins = false }) => ({ id: modelId(token), begins }))),
        ),
      finish: () => compared(this.#scorer.finish()),
      close: () => {}, // it may be forked after its end
    };
  }
}

/** How many tokens the response may have in the scorer's eyes. */
function roomOf({ engine, request }: ScoredBranchOptions, promptIds: readonly number[]): number {
  const left = engine.contextLength - promptIds.length;
  const { maxTokens } = request;
  // A text that is tokenised anew may come to a few more tokens than it was written in.
  return maxTokens === undefined ? left : Math.min(left, maxTokens + Math.ceil(maxTokens / 4) + 8);
}

async function openScorer(
  options: ScoredBranchOptions,
  promptIds: readonly number[],
): Promise<SequenceScorer> {
  const { engine, scoring, forks } = options;
  const room = roomOf(options, promptIds);
  if (room < 1) {
    const { contextLength } = engine;
    const message = `messages: ${promptIds.length} tokens leave no room in the context length of ${contextLength} of the scorer`;
    throw new ApiError(400, 'context_length_exceeded', message, 'messages');
  }
  return SequenceScorer.open(engine, promptIds, scoring, promptIds.length + room, forks);
}

const sameIds = (a: readonly number[], b: readonly number[] | null): boolean =>
  a.length === b?.length && a.every((id, i) => id === b[i]);
