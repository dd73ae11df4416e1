import { filter, lastValueFrom, map, take, toArray } from 'rxjs';
import { interleaveTimed, type Sample } from '#src/cost/timing.js';
import type { Engine } from '#src/engine/engine.js';
import { scoredGeneration } from '#src/stream/scored-generation.js';
import { endlessRequest, perToken, SHIPPED_SCORING } from './streams.js';

const WRITTEN_TOKENS = 16;

/** Written with the scores that a guard has by default. */
export interface WritingCost {
  /** Tokens of the prompt. */
  readonly length: number;
  /** Milliseconds per token. */
  readonly sample: Sample;
}

/**
 * Measures the cost of a token after longer and longer prompts, in turn; without the cost of reading the
 * prompt.
 */
export async function measureWriting(
  engine: Engine,
  lengths: readonly number[],
  rounds: number,
  onRound: () => void,
): Promise<WritingCost[]> {
  const variants = Object.fromEntries(
    lengths.map((length) => [
      String(length),
      async () => {
        // The keys and values of a prompt are found again in the next round.
        const times = await tokenTimes(engine, idsOf(engine, length, 0), WRITTEN_TOKENS + 1);
        return times.at(-1)!.time - times[0]!.time;
      },
    ]),
  );
  const samples = await interleaveTimed(rounds, variants, onRound);
  return lengths.map((length) => ({ length, sample: perToken(samples[String(length)]!, WRITTEN_TOKENS) }));
}

/** Two turns of a conversation: the second begins with all of the first. */
export interface ConversationSpeed {
  readonly promptTokens: number;
  /** Tokens that the second turn adds: the answer to the first, and a question. */
  readonly addedTokens: number;
  /** Milliseconds to the first token, which has its scores. */
  readonly first: Sample;
  readonly next: Sample;
}

const QUESTION_TOKENS = 24;

/** Long prompts that have not been asked before, each followed by its next turn. */
export async function measureConversation(
  engine: Engine,
  promptTokens: number,
  rounds: number,
  onRound: () => void,
): Promise<ConversationSpeed> {
  let conversations = 0;
  let next: number[] = [];
  const samples = await interleaveTimed(
    rounds,
    {
      first: async () => {
        conversations += 1;
        const prompt = idsOf(engine, promptTokens, conversations);
        const start = performance.now();
        const tokens = await tokenTimes(engine, prompt, WRITTEN_TOKENS);
        next = [...prompt, ...tokens.map(({ id }) => id), ...idsOf(engine, QUESTION_TOKENS, 0)];
        return tokens[0]!.time - start;
      },
      next: async () => {
        const start = performance.now();
        const [token] = await tokenTimes(engine, next, 1);
        return token!.time - start;
      },
    },
    onRound,
  );
  return { promptTokens, addedTokens: WRITTEN_TOKENS + QUESTION_TOKENS, ...samples };
}

/** When each token was there, with its scores. */
function tokenTimes(
  engine: Engine,
  promptIds: readonly number[],
  tokens: number,
): Promise<{ readonly id: number; readonly time: number }[]> {
  const request = { ...endlessRequest(engine, tokens), client: 'bench', promptIds };
  let id = 0;
  const scored = scoredGeneration(engine, request, SHIPPED_SCORING).pipe(
    filter((event) => {
      if (event.type === 'token.delta') id = event.id ?? 0;
      return event.type === 'score.delta';
    }),
    map(() => ({ id, time: performance.now() })),
    take(tokens),
    toArray(),
  );
  return lastValueFrom(scored);
}

/** Other texts with other numbers: none of them begins as another does. */
const idsOf = (engine: Engine, count: number, text: number): number[] =>
  Array.from(
    { length: count },
    (_, i) => (1 + text * 104_729 + i * 7919) % engine.checkpoint.config.vocabSize,
  );
