import type { Engine } from '../engine/engine.js';
import { EngineError } from '../engine/engine-errors.js';
import type { PassToken, Rival } from '../engine/engine-messages.js';
import type { GenerateRequest } from '../engine/generation.js';
import type { TokenLogprob } from '../engine/sampler.js';
import type { ScoreSequence } from '../engine/score-sequence.js';
import { byTokenStatistic } from '../numerics/token-statistics.js';
import { isProbability, type Method, type Scores } from './method-names.js';
import { checkFinite, type Measured, rivalOf, SCORE_OF } from './methods.js';
import { needsReplicas, replicaOptions, sizeOf } from './replica-options.js';
import { blockOf, passStart } from './schedule.js';
import { type AbsoluteScoring, absoluteScoring, type Scoring, SettingsError } from './settings.js';

/** A token of the response, with what its writer says of it. */
export interface NewToken {
  readonly id: number;
  /**
   * Natural log, temperature 1. It has to be the model's own, because derivatives in 8 bits are scaled by 1 − p. Without it,
   * a forward pass computes it.
   */
  readonly logprob?: number;
  /** No pass scores it together with the token before it. */
  readonly begins?: boolean;
}

export interface TokenScore {
  /** Counts the tokens of the response from 0. */
  readonly index: number;
  readonly id: number;
  readonly logprob: number;
  readonly scores: Scores;
  /** Methods that were left out for this token: it has no score, which is not a score of zero. */
  readonly skipped: readonly Method[];
  /** The other token whose probability grew most; `null` if none grew, or without an adversary. */
  readonly rival: Rival | null;
  /** The most probable tokens, as many as were asked for. */
  readonly top?: readonly TokenLogprob[];
}

/** A token that no pass scores. */
export type PassedToken = Pick<TokenScore, 'index' | 'scores' | 'skipped' | 'rival'>;

/**
 * Scores a response while it grows, or once it is there: the passes are the same. Calls are served in their order;
 * after a failure every further call fails alike.
 */
export class SequenceScorer {
  readonly #sequence: ScoreSequence;
  readonly #scoring: AbsoluteScoring;
  readonly #promptIds: readonly number[];
  /** Tokens that the score process has not been told of. */
  #unsent: number[];
  readonly #response: NewToken[] = [];
  /** Response tokens that are not scored yet. */
  #unscored: NewToken[] = [];
  /** Response positions at which passes began: the tokens up to the next of these were scored together. */
  readonly #blocks: number[] = [];
  #scored = 0;
  #positions = 0;
  /** Whether the score process was told of the prompt. */
  #started = false;
  /** Whether passes tell probabilities; decided with the first message. */
  #probabilities: boolean | undefined;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(sequence: ScoreSequence, promptIds: readonly number[], scoring: AbsoluteScoring) {
    this.#sequence = sequence;
    this.#scoring = scoring;
    this.#promptIds = promptIds;
    this.#unsent = [...promptIds];
  }

  /**
   * @param promptIds at least one token: the first of the response needs something to follow
   * @param positions the longest that prompt and response may become: memory is set aside for it
   * @param forks how many other continuations there may be at a time
   * @param owner the client that it belongs to ({@link GenerateRequest.client})
   * @throws EngineError `memory`, `overloaded`, `unavailable`, `closed`; SettingsError; ModelError where the
   *   embeddings' RMS is needed and unreadable
   */
  static async open(
    engine: Engine,
    promptIds: readonly number[],
    scoring: Scoring,
    positions = engine.contextLength,
    forks = 0,
    { client }: Pick<GenerateRequest, 'client'> = {},
  ): Promise<SequenceScorer> {
    if (promptIds.length === 0) throw new SettingsError('promptIds', 'needs at least one token');
    const { checkpoint } = engine;
    const absolute = await absoluteScoring(scoring, checkpoint.embeddingRms);
    const replicas = replicaOptions(absolute);
    const sequence = await engine.openSequence(sizeOf(absolute, positions, replicas), forks, client);
    try {
      for (const options of replicas) sequence.openReplicas(options);
    } catch (error) {
      sequence.release();
      throw error;
    }
    return new SequenceScorer(sequence, [...promptIds], absolute);
  }

  /**
   * Reads the text before the window of the first pass, before it is due. The first token does the same: on the machine
   * that writes, to begin earlier would delay it.
   */
  readAhead(): void {
    const { methods, schedule } = this.#scoring;
    if (this.#started) return;
    this.#started = true;
    if (schedule.kind === 'offline') return;
    const from = this.#promptIds.length;
    const first = { from, to: from + schedule.block, attacked: methods.includes('adversarial') };
    const end = passStart(schedule, first);
    if (end <= 0) return;
    const newIds = this.#unsent.splice(0);
    this.#probabilities ??= true;
    const probabilities = this.#probabilities;
    void this.#inOrder(() => this.#sequence.read({ newIds, end, probabilities }));
  }

  /** Positions that score passes ran over so far, summed. */
  get positions(): number {
    return this.#positions;
  }

  /**
   * Takes the next tokens of the response and scores those that are due.
   * @throws EngineError; RangeError for an id outside the vocabulary
   */
  push(tokens: readonly NewToken[]): Promise<TokenScore[]> {
    const { methods, top } = this.#scoring;
    const known = tokens[0]?.logprob !== undefined;
    this.#probabilities ??= !known || top !== undefined || methods.some(isProbability);
    this.readAhead();
    return this.#inOrder(async () => {
      // One by one: so many may not be arguments of one call.
      for (const token of tokens) this.#append(token);
      return this.#score(blockOf(this.#scoring.schedule));
    });
  }

  /** Scores the tokens that are left, at the end of the response or of a block. */
  finish(): Promise<TokenScore[]> {
    return this.#inOrder(() => this.#score(1));
  }

  /**
   * Takes the next tokens of the response without scoring them. They go through the model with the next pass, as the
   * context of its tokens.
   * @throws RangeError while tokens wait for a score
   */
  passOver(tokens: readonly NewToken[]): Promise<PassedToken[]> {
    return this.#inOrder(async () => {
      const { methods } = this.#scoring;
      const first = this.#scored;
      if (this.#unscored.length > 0) throw new RangeError(`passOver: token ${first} waits for its score`);
      for (const token of tokens) this.#append(token);
      this.#unscored = [];
      this.#blocks.push(first);
      this.#scored += tokens.length;
      return tokens.map((_, i) => ({ index: first + i, scores: {}, skipped: methods, rival: null }));
    });
  }

  /**
   * Scores another continuation of the first `keep` tokens of the response. Nothing of the others has a part in its
   * scores: where a pass attacked some of both, those that stay are scored anew, so the first score may be of an
   * earlier token.
   * @throws EngineError; RangeError for more tokens than were pushed
   */
  fork(keep: number): Promise<SequenceScorer> {
    return this.#inOrder(async () => {
      if (keep < 0 || keep > this.#response.length) {
        throw new RangeError(`keep: ${keep} of ${this.#response.length} tokens`);
      }
      const known = this.#promptIds.length + this.#response.length - this.#unsent.length;
      const length = Math.min(known, this.#promptIds.length + keep);
      const fork = new SequenceScorer(await this.#sequence.fork(length), this.#promptIds, this.#scoring);
      fork.#started = true;
      fork.#probabilities = this.#probabilities;
      const shared = keep < this.#scored && !this.#blocks.includes(keep);
      fork.#scored = shared ? this.#blocks.findLast((start) => start < keep)! : Math.min(keep, this.#scored);
      for (const start of this.#blocks) if (start < fork.#scored) fork.#blocks.push(start);
      for (const token of this.#response.slice(0, keep)) {
        fork.#response.push(token);
        fork.#unsent.push(token.id);
      }
      fork.#unscored = fork.#response.slice(fork.#scored);
      fork.#unsent.splice(0, length);
      return fork;
    });
  }

  close(): void {
    this.#sequence.release();
  }

  #append(token: NewToken): void {
    this.#response.push(token);
    this.#unsent.push(token.id);
    this.#unscored.push(token);
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result;
    result.catch(() => {}); // the caller gets the error
    return result;
  }

  /** @param least the number of waiting tokens from which on a block is due */
  async #score(least: number): Promise<TokenScore[]> {
    const scores: TokenScore[] = [];
    for (let count = this.#next(least); count > 0; count = this.#next(least)) {
      scores.push(...(await this.#scoreBlock(count)));
    }
    return scores;
  }

  /** How many tokens the next block has; 0 if it is not due. */
  #next(least: number): number {
    const { schedule } = this.#scoring;
    const limit =
      schedule.kind === 'offline' ? -1 : this.#unscored.findIndex(({ begins }, i) => i > 0 && begins);
    const count = Math.min(this.#unscored.length, blockOf(schedule), limit < 0 ? Infinity : limit);
    return count >= least || count === limit ? count : 0;
  }

  async #scoreBlock(count: number): Promise<TokenScore[]> {
    const from = this.#promptIds.length + this.#scored;
    const to = from + count;
    const tokens = await this.#pass(from, to);
    const sample = async (kind: 'noise' | 'tokur') =>
      needsReplicas(kind, this.#scoring)
        ? this.#sequence.sample({ kind, newIds: this.#unsent.splice(0), from, to })
        : [];
    const [noise, tokur] = [await sample('noise'), await sample('tokur')];
    const first = this.#scored;
    this.#blocks.push(first);
    this.#scored += count;
    const { top } = this.#scoring;
    return this.#unscored.splice(0, count).map(({ id, logprob = Number.NaN }, i) => {
      const { adversary, probability } = tokens[i]!;
      // What no method needs is not reported.
      const written = { logprob, ...byTokenStatistic(() => 0), top: [] };
      const token = {
        ...(probability ?? written),
        adversary,
        noise: noise[i] ?? [],
        tokur: tokur[i] ?? [],
      };
      const most = top !== undefined && { top: token.top };
      return { index: first + i, id, logprob: token.logprob, ...this.#measure(token, first + i), ...most };
    });
  }

  async #pass(from: number, to: number): Promise<readonly PassToken[]> {
    const { methods, schedule, alpha, form = 'perturb', top } = this.#scoring;
    const attacks = methods.includes('adversarial');
    const start = passStart(schedule, { from, to, attacked: attacks });
    const adversary = attacks ? { alpha, form, attacked: Array(to - from).fill(true) } : null;
    const newIds = this.#unsent.splice(0);
    this.#probabilities ??= true;
    const logprobs = this.#unscored.slice(0, to - from).map(({ logprob = Number.NaN }) => logprob);
    const known = !this.#probabilities && { logprobs };
    const request = { newIds, start, from, to, adversary, ...known, ...(top !== undefined && { top }) };
    const { tokens, positions } = await this.#sequence.pass(request);
    this.#positions += positions;
    return tokens;
  }

  #measure(token: Measured, index: number): Pick<TokenScore, 'scores' | 'skipped' | 'rival'> {
    const { methods } = this.#scoring;
    const scores = Object.fromEntries(methods.map((method) => [method, SCORE_OF[method](token)]));
    checkFinite(token, scores, index);
    return { scores, skipped: [], rival: rivalOf(token) };
  }
}

export interface ScoredResponse {
  readonly tokens: readonly TokenScore[];
  /** Positions that passes ran over, summed. */
  readonly positions: number;
}

/**
 * Scores a finished response.
 * @param response its tokens, or their ids alone
 * @throws EngineError, `too_long` when prompt and response exceed the context; SettingsError
 */
export async function scoreResponse(
  engine: Engine,
  promptIds: readonly number[],
  response: readonly (number | NewToken)[],
  scoring: Scoring,
): Promise<ScoredResponse> {
  const length = promptIds.length + response.length;
  if (length > engine.contextLength) {
    const problem = `${length} tokens exceed the context length of ${engine.contextLength}`;
    throw new EngineError('too_long', problem);
  }
  const scorer = await SequenceScorer.open(engine, promptIds, scoring, length);
  try {
    const given = response.map((token) => (typeof token === 'number' ? { id: token } : token));
    const tokens = [...(await scorer.push(given)), ...(await scorer.finish())];
    return { tokens, positions: scorer.positions };
  } finally {
    scorer.close();
  }
}
