/** Properties of a token that decide whether its block is passed over. */
interface WaitingToken {
  /** No pass scores it together with the token before it. */
  readonly begins?: boolean;
  /** Natural log; absent if it is not reported. */
  readonly logprob?: number;
}

/** Tokens that one pass scores. */
export interface WaitingBlock<Token> {
  readonly tokens: readonly Token[];
  /** No pass scores them: too many others wait. */
  readonly passedOver: boolean;
}

/**
 * The blocks of a response that wait for a pass, in order. If more than `most` tokens wait in whole blocks, blocks are
 * passed over: first those whose least probable token is the most probable, and of equals the oldest. A token without a
 * log-probability counts as improbable. Blocks end where the scorer's passes end, so that those that are scored have
 * the scores that they would have without others being passed over.
 *
 * @example
 * const waiting = new WaitingBlocks(8, 64);
 * if (waiting.push(token)) const block = waiting.take();
 */
export class WaitingBlocks<Token extends WaitingToken> {
  readonly #size: number;
  readonly #most: number;
  readonly #whole: {
    readonly tokens: readonly Token[];
    readonly certainty: number;
    passedOver: boolean;
  }[] = [];
  #open: Token[] = [];

  /**
   * @param size of a block, in tokens
   * @param most tokens that wait, at least `size`
   */
  constructor(size: number, most: number) {
    this.#size = size;
    this.#most = most;
  }

  /** @returns whether a further block is whole */
  push(token: Token): boolean {
    const ended = token.begins === true && this.end();
    this.#open.push(token);
    return (this.#open.length === this.#size && this.end()) || ended;
  }

  /** The response has ended, and with it the last block. @returns whether there is one */
  end(): boolean {
    const tokens = this.#open;
    if (tokens.length === 0) return false;
    this.#open = [];
    const certainty = Math.min(...tokens.map(({ logprob = Number.NEGATIVE_INFINITY }) => logprob));
    this.#whole.push({ tokens, certainty, passedOver: false });
    return true;
  }

  /** The first of the whole blocks; `null` for none. */
  take(): WaitingBlock<Token> | null {
    for (let waiting = this.#waiting(); sizeOf(waiting) > this.#most; waiting = this.#waiting()) {
      const certain = waiting.reduce((a, b) => (b.certainty > a.certainty ? b : a));
      certain.passedOver = true;
    }
    return this.#whole.shift() ?? null;
  }

  #waiting() {
    return this.#whole.filter(({ passedOver }) => !passedOver);
  }
}

const sizeOf = (blocks: readonly Pick<WaitingBlock<unknown>, 'tokens'>[]): number =>
  blocks.reduce((size, { tokens }) => size + tokens.length, 0);
