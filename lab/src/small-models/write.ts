import { each } from '#bench/concurrent-map.js';
import { encodeGiven, textsOf } from '#bench/run/prompt.js';
import { seedOf } from '#bench/run/seeds.js';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { UsageError } from '#src/files/errors.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { type Answer, openAnswers, openScores, type PretrainedSettings } from './records.js';
import { complete, type WrittenToken } from './server.js';
import { type PretrainedProblem, TASKS } from './tasks.js';

export interface Writing {
  readonly folder: string;
  readonly settings: PretrainedSettings;
  readonly problems: readonly PretrainedProblem[];
  /** Address of the server; `null` for given answers. */
  readonly url: string | null;
  /** Checkpoint that will score; `null` if the server's log-probabilities are the scores. */
  readonly checkpoint: string | null;
  readonly streams: number;
  readonly signal: AbortSignal;
}

type OpenCheckpoint = Awaited<ReturnType<typeof openCheckpoint>>;

/** An answer to each problem that has none. */
export async function writeAnswers(writing: Writing): Promise<void> {
  const { folder, settings, problems, streams, signal } = writing;
  const checkpoint = writing.checkpoint === null ? null : await openCheckpoint(writing.checkpoint);
  const answers = await openAnswers(folder);
  const scores = await openScores(folder);
  const missing = problems.filter(({ id }) => !answers.has(id));
  await each(
    settings.task,
    missing,
    async (problem) => {
      if (problem.given) return void answers.add(givenAnswer(checkpoint, problem));
      const { answer, tokens } = await writeAnswer(writing, checkpoint, problem, {
        temperature: settings.temperature!,
        seed: seedOf(1, problem.id),
      });
      for (const [measure, of] of tokens ? SERVER_MEASURES : [])
        scores.add({ id: problem.id, measure, tokens: tokens!.map(of) });
      answers.add(answer);
    },
    { concurrency: streams, done: problems.length - missing.length, signal },
  );
}

interface Sampling {
  readonly temperature: number;
  readonly seed: number;
}

interface Written {
  readonly answer: Answer;
  /** `null` where a checkpoint will score the answer. */
  readonly tokens: WrittenToken[] | null;
}

const writeAnswer = async (
  writing: Writing,
  checkpoint: OpenCheckpoint | null,
  problem: PretrainedProblem,
  sampling: Sampling,
): Promise<Written> =>
  checkpoint
    ? { answer: await writeByIds(writing, checkpoint, problem, sampling), tokens: null }
    : await writeByText(writing, problem, sampling);

function givenAnswer(checkpoint: OpenCheckpoint | null, problem: PretrainedProblem): Answer {
  if (!checkpoint) throw new UsageError('--checkpoint: is required to read given answers');
  const encoded = encodeGiven(checkpoint, problem.given!);
  if (!encoded) throw new UsageError(`${problem.id}: the tokenizer does not give its text back`);
  const { id, messages } = problem;
  return { id, promptIds: encodePrompt(checkpoint, messages), ...encoded, finish: 'given' };
}

const request = ({ settings: { task, model }, url }: Writing, sampling: Sampling) => {
  if (url === null) throw new UsageError(`--server: is required for the task ${task}`);
  return { url, model, ...sampling, max_tokens: TASKS[task].maxTokens };
};

/** Writes an answer by the ids of prompt and answer, so that the written tokens are the scored ones. */
async function writeByIds(
  writing: Writing,
  checkpoint: OpenCheckpoint,
  problem: PretrainedProblem,
  sampling: Sampling,
): Promise<Answer> {
  const { url, ...asked } = request(writing, sampling);
  const promptIds = encodePrompt(checkpoint, problem.messages);
  const { finish, tokenIds } = await complete(url, { ...asked, prompt: promptIds, n_probs: 1 });
  if (!tokenIds) throw new UsageError('--server: sends no token ids, as vLLM and llama.cpp do');
  if (finish === 'stop' && checkpoint.eosTokenIds.includes(tokenIds.at(-1)!)) tokenIds.pop();
  const tokenTexts = textsOf(checkpoint.tokenizer, tokenIds);
  return { id: problem.id, promptIds, tokenIds, tokenTexts, finish };
}

/** Alternatives of a token; llama.cpp sends more if asked, but no more are read from it elsewhere. */
const ALTERNATIVES = 20;

async function writeByText(
  writing: Writing,
  problem: PretrainedProblem,
  sampling: Sampling,
): Promise<Written> {
  const { url, ...asked } = request(writing, sampling);
  const { stop } = TASKS[writing.settings.task];
  const prompt = problem.completion;
  const { finish, tokens } = await complete(url, { ...asked, prompt, stop, n_probs: ALTERNATIVES });
  if (!tokens) throw new UsageError('--server: sends no log-probabilities of tokens');
  const tokenIds = tokens.map(({ id }) => id);
  const tokenTexts = tokens.map(({ text }) => text);
  return { answer: { id: problem.id, promptIds: null, tokenIds, tokenTexts, finish }, tokens };
}

/**
 * Measures that log-probabilities allow, as in a gateway with an upstream and without a scorer; the last is a
 * lower bound.
 */
const SERVER_MEASURES: readonly (readonly [string, (token: WrittenToken) => number])[] = [
  ['nll', ({ logprob }) => 0 - logprob],
  [
    'margin',
    ({ id, logprob, top }) =>
      1 -
      Math.exp(logprob) +
      Math.exp(Math.max(...top.filter((other) => other.id !== id).map((other) => other.logprob))),
  ],
  ['entropy-top20', entropyOfTop],
];

/** The entropy if all tokens that are not told were one. */
function entropyOfTop({ top }: WrittenToken): number {
  const told = top.map(({ logprob }) => Math.exp(logprob));
  const rest = Math.max(0, 1 - told.reduce((sum, p) => sum + p, 0));
  return [...told, rest].reduce((sum, p) => (p > 0 ? sum - p * Math.log(p) : sum), 0);
}
