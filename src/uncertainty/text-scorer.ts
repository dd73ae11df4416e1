import type { Engine } from '../engine/engine.js';
import { EngineError } from '../engine/errors.js';
import type { PassToken, Rival } from '../engine/protocol.js';
import type { ScoreText } from '../engine/score-text.js';
import { adversarial } from './adversarial.js';
import type { Method, Scores } from './method.js';
import { entropy, margin, nll } from './probability.js';
import { blockOf, windowStart } from './schedule.js';
import { type AbsoluteScoring, absoluteScoring, type Scoring, SettingsError } from './settings.js';

export interface TokenScore {
  /** Counts the tokens of the response from 0. */
  readonly index: number;
  readonly id: number;
  readonly logprob: number;
  readonly scores: Scores;
  /** The other token whose probability grew most; `null` without an adversary. */
  readonly rival: Rival | null;
}

const MEASURES: Readonly<Record<Method, (token: PassToken) => number>> = {
  adversarial,
  nll,
  entropy,
  margin,
};

/**
 * Scores a response while it grows, or once it is there: the passes are the same. Calls are served in their order;
 * after a failure every further call fails alike.
 */
export class TextScorer {
  readonly #text: ScoreText;
  readonly #scoring: AbsoluteScoring;
  readonly #promptLength: number;
  /** Tokens that the score process has not been told of. */
  #unsent: number[];
  /** Response tokens that are not scored yet. */
  #unscored: number[] = [];
  #scored = 0;
  #positions = 0;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(text: ScoreText, promptIds: readonly number[], scoring: AbsoluteScoring) {
    this.#text = text;
    this.#scoring = scoring;
    this.#promptLength = promptIds.length;
    this.#unsent = [...promptIds];
  }

  /**
   * @param promptIds at least one token: the first of the response needs something to follow
   * @throws EngineError `unavailable`, `closed`; SettingsError; ModelError where the embeddings' RMS is needed and unreadable
   */
  static async open(engine: Engine, promptIds: readonly number[], scoring: Scoring): Promise<TextScorer> {
    if (promptIds.length === 0) throw new SettingsError('promptIds', 'needs at least one token');
    const absolute = await absoluteScoring(scoring, engine.checkpoint.embeddingRms);
    return new TextScorer(await engine.openText(), promptIds, absolute);
  }

  /** Positions that passes ran over so far, summed. */
  get positions(): number {
    return this.#positions;
  }

  /**
   * Takes the next tokens of the response and scores the blocks that they complete.
   * @throws EngineError
   */
  push(ids: readonly number[]): Promise<TokenScore[]> {
    return this.#inOrder(async () => {
      this.#unsent.push(...ids);
      this.#unscored.push(...ids);
      const scores: TokenScore[] = [];
      const block = blockOf(this.#scoring.schedule);
      while (this.#unscored.length >= block) scores.push(...(await this.#pass(block)));
      return scores;
    });
  }

  /** The response has ended: scores what is left. */
  finish(): Promise<TokenScore[]> {
    return this.#inOrder(async () => (this.#unscored.length > 0 ? this.#pass(this.#unscored.length) : []));
  }

  close(): void {
    this.#text.release();
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result;
    result.catch(() => {}); // whoever called hears of it
    return result;
  }

  async #pass(count: number): Promise<TokenScore[]> {
    const { methods, schedule, alpha } = this.#scoring;
    const ids = this.#unscored.splice(0, count);
    const from = this.#promptLength + this.#scored;
    const to = from + count;
    const attacked = methods.includes('adversarial');
    const { tokens, positions } = await this.#text.pass({
      newIds: this.#unsent.splice(0),
      start: windowStart(schedule, from, to, attacked),
      from,
      to,
      adversary: attacked ? { alpha, form: 'perturb' } : null,
    });
    this.#positions += positions;
    return tokens.map((token, i) => {
      const index = this.#scored;
      this.#scored += 1;
      return { index, id: ids[i]!, logprob: token.logprob, ...this.#measure(token, index) };
    });
  }

  #measure(token: PassToken, index: number): Pick<TokenScore, 'scores' | 'rival'> {
    checkFinite(token, index);
    const scores = Object.fromEntries(
      this.#scoring.methods.map((method) => [method, MEASURES[method](token)]),
    );
    return { scores, rival: token.adversary?.rival ?? null };
  }
}

/**
 * A number that is not finite is a failure of scoring, never a score. All that the pass says of a token counts, asked
 * for or not: next to a logit of −∞ the token's own log-probability is finite, and its entropy, 0 · −∞, is not.
 */
function checkFinite({ logprob, entropy, margin, adversary }: PassToken, index: number): void {
  const numbers: Readonly<Record<string, number>> = {
    logprob,
    entropy,
    margin,
    ...(adversary && {
      'fall of the log-probability': adversary.fall,
      'probability of the rival before': adversary.rival.before,
      'probability of the rival after': adversary.rival.after,
    }),
  };
  for (const [name, value] of Object.entries(numbers)) {
    if (!Number.isFinite(value)) {
      throw new EngineError('failed', `scoring failed: ${name} of token ${index} is ${value}`);
    }
  }
}

export interface ScoredResponse {
  readonly tokens: readonly TokenScore[];
  /** Positions that passes ran over, summed. */
  readonly positions: number;
}

/**
 * Scores a finished response.
 * @throws EngineError, `too_long` when prompt and response exceed the context; SettingsError
 */
export async function scoreResponse(
  engine: Engine,
  promptIds: readonly number[],
  responseIds: readonly number[],
  scoring: Scoring,
): Promise<ScoredResponse> {
  const length = promptIds.length + responseIds.length;
  if (length > engine.contextLength) {
    throw new EngineError('too_long', `${length} tokens exceed the context of ${engine.contextLength}`);
  }
  const scorer = await TextScorer.open(engine, promptIds, scoring);
  try {
    const tokens = [...(await scorer.push(responseIds)), ...(await scorer.finish())];
    return { tokens, positions: scorer.positions };
  } finally {
    scorer.close();
  }
}
