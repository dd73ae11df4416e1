/** When an answer came, in milliseconds since it was asked for. */
export interface AnswerTimes {
  /** Of each token. */
  readonly tokens: readonly number[];
  /** When it was done: its last token, and its last score where tokens are scored. */
  readonly end: number;
}

export interface AnswerSpeed {
  /** Seconds until the first token: the prompt, mostly. */
  readonly firstSeconds: number;
  /** Speed after the prompt. */
  readonly tokensPerSecond: number;
}

/**
 * The prompt apart from what is written after it: (n − 2) / (end − second token). The speed counts from the second token
 * on, because the first step after a prompt may still set something up.
 *
 * @throws RangeError if fewer than three tokens tell a speed
 */
export function answerSpeed({ tokens, end }: AnswerTimes): AnswerSpeed {
  const [first, second, third] = tokens;
  if (first === undefined || second === undefined || third === undefined)
    throw new RangeError('the speed of an answer needs three tokens or more');
  return { firstSeconds: first / 1000, tokensPerSecond: (1000 * (tokens.length - 2)) / (end - second) };
}
