import type { Engine } from '../engine/engine.js';
import { EngineError } from '../engine/errors.js';
import type { GenerateRequest } from '../engine/generation.js';
import type { Rival } from '../engine/protocol.js';
import type { TokenLogprob } from '../engine/sampler.js';
import type { ScoreSequence } from '../engine/score-sequence.js';
import type { Method, Scores } from './method-names.js';
import { checkFinite, type Measured, SCORE_OF } from './methods.js';
import { needsReplicas, replicaOptions, sizeOf } from './replicas.js';
import { blockOf, isDoubtful, windowStart } from './schedule.js';
import { type AbsoluteScoring, absoluteScoring, type Scoring, SettingsError } from './settings.js';

/** A token of the response, with its log-probability if its writer knows it. */
export interface NewToken {
  readonly id: number;
  /** Natural log, temperature 1. */
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
  /** The other token whose probability grew most; `null` without an adversary. */
  readonly rival: Rival | null;
  /** The most probable tokens, as many as were asked for. */
  readonly top?: readonly TokenLogprob[];
}

/** A token that no pass scores. */
export type PassedToken = Pick<TokenScore, 'index' | 'scores' | 'skipped' | 'rival'>;

/** The next tokens that go into a pass. */
interface Block {
  readonly count: number;
  /** Whether the adversary attacks each of them; `null` for a pass without one. */
  readonly attacked: readonly boolean[] | null;
}

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
    const replicas = replicaOptions(absolute, checkpoint.config.hiddenSize);
    const sequence = await engine.openSequence(sizeOf(absolute, positions, replicas), forks, client);
    try {
      for (const options of replicas) sequence.openReplicas(options);
    } catch (error) {
      sequence.release();
      throw error;
    }
    const scorer = new SequenceScorer(sequence, [...promptIds], absolute);
    scorer.#readAhead();
    return scorer;
  }

  /** Reads the text before the window of the first pass, while there is no token of the response yet. */
  #readAhead(): void {
    const { methods, schedule } = this.#scoring;
    if (schedule.kind === 'offline') return;
    const from = this.#promptIds.length;
    const end = windowStart(schedule, from, from + schedule.block, methods.includes('adversarial'));
    if (end <= 0) return;
    const newIds = this.#unsent.splice(0);
    void this.#inOrder(() => this.#sequence.read({ newIds, end }));
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

  /** @param least the number of waiting tokens from which on a block is due without a doubtful one */
  async #score(least: number): Promise<TokenScore[]> {
    if (this.#isLazy()) await this.#learnLogprobs();
    const scores: TokenScore[] = [];
    for (let block = this.#next(least); block; block = this.#next(least)) {
      scores.push(...(await this.#pass(block)));
    }
    return scores;
  }

  #isLazy(): boolean {
    const { schedule, methods } = this.#scoring;
    return schedule.kind === 'lazy' && methods.includes('adversarial');
  }

  #next(least: number): Block | null {
    const { methods, schedule } = this.#scoring;
    const limit =
      schedule.kind === 'offline' ? -1 : this.#unscored.findIndex(({ begins }, i) => i > 0 && begins);
    const block = this.#unscored.slice(0, limit < 0 ? blockOf(schedule) : Math.min(limit, blockOf(schedule)));
    const due = block.length > 0 && (block.length >= least || block.length === limit);
    if (!methods.includes('adversarial')) return due ? { count: block.length, attacked: null } : null;
    if (schedule.kind !== 'lazy') {
      return due ? { count: block.length, attacked: block.map(() => true) } : null;
    }
    const doubtful = block.findIndex(({ logprob }) => isDoubtful(logprob!, schedule.epsilon));
    if (doubtful < 0) return due ? { count: block.length, attacked: null } : null;
    return { count: doubtful + 1, attacked: block.slice(0, doubtful + 1).map((_, i) => i === doubtful) };
  }

  /** The probabilities that tell which tokens are doubtful, where the writer of the sequence did not give them. */
  async #learnLogprobs(): Promise<void> {
    const unknown = this.#unscored.findIndex(({ logprob }) => logprob === undefined);
    if (unknown < 0) return;
    const from = this.#promptIds.length + this.#scored + unknown;
    const to = this.#promptIds.length + this.#scored + this.#unscored.length;
    const newIds = this.#unsent.splice(0);
    const request = { newIds, start: from - 1, from, to, adversary: null };
    const { tokens, positions } = await this.#sequence.pass(request);
    this.#positions += positions;
    for (const [i, { logprob }] of tokens.entries()) {
      this.#unscored[unknown + i] = { ...this.#unscored[unknown + i]!, logprob };
    }
  }

  async #pass({ count, attacked }: Block): Promise<TokenScore[]> {
    const { schedule, alpha, form = 'perturb', top } = this.#scoring;
    const from = this.#promptIds.length + this.#scored;
    const to = from + count;
    const start = windowStart(schedule, from, to, attacked !== null);
    const adversary = attacked && { alpha, form, attacked };
    const newIds = this.#unsent.splice(0);
    const request = { newIds, start, from, to, adversary, ...(top !== undefined && { top }) };
    const { tokens, positions } = await this.#sequence.pass(request);
    const sample = async (kind: 'noise' | 'tokur') =>
      needsReplicas(kind, this.#scoring) ? this.#sequence.sample({ kind, newIds: [], from, to }) : [];
    const [noise, tokur] = [await sample('noise'), await sample('tokur')];
    this.#positions += positions;
    const first = this.#scored;
    this.#blocks.push(first);
    this.#scored += count;
    return this.#unscored.splice(0, count).map(({ id }, i) => {
      const measured = { ...tokens[i]!, noise: noise[i] ?? [], tokur: tokur[i] ?? [] };
      const token = attacked?.[i] ? measured : { ...measured, adversary: null };
      const most = top !== undefined && { top: token.top };
      return { index: first + i, id, logprob: token.logprob, ...this.#measure(token, first + i), ...most };
    });
  }

  #measure(token: Measured, index: number): Pick<TokenScore, 'scores' | 'skipped' | 'rival'> {
    const { methods, form = 'perturb' } = this.#scoring;
    const given = methods.filter((method) => method !== 'adversarial' || token.adversary);
    const scores = Object.fromEntries(given.map((method) => [method, SCORE_OF[method](token, form)]));
    checkFinite(token, scores, index);
    const skipped = methods.filter((method) => !given.includes(method));
    return { scores, skipped, rival: token.adversary?.rival ?? null };
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
    throw new EngineError(
      'too_long',
      `${length} tokens exceed the context length of ${engine.contextLength}`,
    );
  }
  const { random } = scoring;
  if (random?.noise) {
    const needed = random.samples * (length - 1) * engine.checkpoint.config.hiddenSize;
    if (random.noise.length !== needed) {
      const shape = `samples × (tokens − 1) × hidden = ${needed}`;
      throw new SettingsError('noise', `contains ${random.noise.length} numbers instead of ${shape}`);
    }
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
