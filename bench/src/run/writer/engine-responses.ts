import { type Engine, EngineError } from 'flinch';
import pRetry from 'p-retry';
import type { Completer } from '../../rollouts/completer.js';
import type { Suite } from '../../suites/suite.js';
import { promptOf, stopOf } from '../problem-prompt.js';
import type { Question, Writer, Written } from './writer.js';

/** The engine that scores writes, too. */
export const engineWriter = (engine: Engine): Writer => ({
  kind: 'engine',
  write: (question) => writeByEngine(engine, question, engine.checkpoint.eosTokenIds),
  close: () => {},
});

/** The engine that scores goes on with responses. Completions of one problem read what they have in common once. */
export const engineCompleter = (
  { engine, suite }: { readonly engine: Engine; readonly suite: Suite },
  system: string | null,
): Completer => ({
  close: () => {},
  async complete({ problem, beginning, ...sampling }) {
    const { checkpoint, contextLength } = engine;
    const prefixIds = beginning.tokenIds ?? checkpoint.tokenizer.encodePlain(beginning.text);
    const promptIds = [...promptOf(checkpoint, suite, problem, system), ...prefixIds];
    const room = Math.min(beginning.maxTokens, contextLength - promptIds.length);
    if (room < 1) return { text: '', tokens: 0, finish: 'length' };
    const { tokenTexts, finish } = await writeByEngine(
      engine,
      { promptIds, maxTokens: room, ...sampling, stop: stopOf(checkpoint, suite), client: problem.id },
      checkpoint.eosTokenIds,
    );
    return { text: tokenTexts.join(''), tokens: tokenTexts.length, finish };
  },
});

/** Prompts of one client are read once as far as they begin alike. */
type EngineQuestion = Omit<Question, 'id' | 'sample' | 'messages'> & { readonly client?: string };

/** @param endIds tokens that end the response; none, and no `stop`, to write on where it would end */
export function writeByEngine(
  engine: Engine,
  { promptIds, maxTokens, temperature, topP, seed, stop, client = '' }: EngineQuestion,
  endIds: readonly number[],
): Promise<Written> {
  return whenPossible(async () => {
    const generation = await engine.generate({
      client,
      promptIds,
      maxTokens,
      endIds,
      stop,
      topLogprobs: 0,
      sampling: { temperature, topP, topK: 0, seed },
    });
    const [tokenIds, tokenTexts, logprobs]: [number[], string[], number[]] = [[], [], []];
    for (;;) {
      const item = await generation.next();
      if (item.type === 'end') return { tokenIds, tokenTexts, logprobs, finish: item.reason };
      tokenIds.push(item.id);
      tokenTexts.push(item.text);
      logprobs.push(item.logprob);
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
