/** When an answer came, in milliseconds since it was asked for. */
export interface AnswerTimes {
  /** Of each token. */
  readonly tokens: readonly number[];
  /** When it was done: its last token, and its last score where tokens are scored. */
  readonly end: number;
}

export interface DecodeSpeed {
  /** Seconds until every answer has its first token: the prompt, mostly. */
  readonly firstSeconds: number;
  /** Speed of all answers together when the prompts are done with. */
  readonly tokensPerSecond: number;
}

/**
 * The prompt apart from what is written after it. The speed counts from the second token on, because the first step after
 * a prompt may still set something up: for one answer of n tokens (n − 2) / (end − second token), and for several from the
 * moment when all have their second token until all are done.
 *
 * @throws RangeError if fewer than three tokens tell a speed
 */
export function decodeSpeed(answers: readonly AnswerTimes[]): DecodeSpeed {
  if (answers.length === 0 || answers.some(({ tokens }) => tokens.length < 3))
    throw new RangeError('the speed of an answer needs three tokens or more');
  const start = Math.max(...answers.map(({ tokens }) => tokens[1]!));
  const end = Math.max(...answers.map((answer) => answer.end));
  const written = answers.flatMap(({ tokens }) => tokens.slice(2)).filter((time) => time >= start).length;
  return {
    firstSeconds: Math.max(...answers.map(({ tokens }) => tokens[0]!)) / 1000,
    tokensPerSecond: (1000 * written) / (end - start),
  };
}

/**
 * Times of an answer that came in chunks, of which a server may have put several tokens into one: those that are missing
 * count as coming with the last chunk.
 */
export function timesOfChunks(chunks: readonly number[], tokens: number): AnswerTimes {
  const end = chunks.at(-1) ?? 0;
  const missing = Math.max(0, tokens - chunks.length);
  return { tokens: [...chunks.slice(0, tokens), ...Array<number>(missing).fill(end)], end };
}
