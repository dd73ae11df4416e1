import { type Engine, EngineError } from 'flinch';
import pRetry from 'p-retry';
import type { Question, Writer, Written } from './writer.js';

/** The engine that scores writes, too. */
export const engineWriter = (engine: Engine): Writer => ({
  kind: 'engine',
  has: () => true,
  write: (question) => writeByEngine(engine, question, engine.checkpoint.eosTokenIds),
  close: () => {},
});

/** @param endIds tokens that end the response; none, and no `stop`, to write on where it would end */
export function writeByEngine(
  engine: Engine,
  { promptIds, maxTokens, temperature, topP, seed, stop }: Omit<Question, 'id' | 'sample' | 'messages'>,
  endIds: readonly number[],
): Promise<Written> {
  return whenPossible(async () => {
    const generation = await engine.generate({
      promptIds,
      maxTokens,
      endIds,
      stop,
      topLogprobs: 0,
      sampling: { temperature, topP, topK: 0, seed },
    });
    const [tokenIds, tokenTexts]: [number[], string[]] = [[], []];
    for (;;) {
      const item = await generation.next();
      if (item.type === 'end') return { tokenIds, tokenTexts, finish: item.reason };
      tokenIds.push(item.id);
      tokenTexts.push(item.text);
    }
  });
}

/** Retries work: if others use the memory it waits for theirs; a process that died is soon restarted. */
function whenPossible<T>(work: () => Promise<T>): Promise<T> {
  let crashes = 0;
  return pRetry(work, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 100,
    maxTimeout: 2000,
    shouldRetry: ({ error }) => {
      if (!(error instanceof EngineError)) return false;
      const lost = error.code === 'crashed' || error.code === 'stalled';
      if (lost) crashes += 1;
      return error.code === 'overloaded' || (lost && crashes <= MAX_CRASHES);
    },
  });
}

/** Work that ended the process so many times will do so again. */
const MAX_CRASHES = 3;
