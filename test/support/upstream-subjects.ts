import { setTimeout } from 'node:timers/promises';
import type { Capabilities } from '#gateway/upstream/upstream.js';
import type { PeerModel } from '#lab/peers/peers-folder.js';
import { checkpointOf } from '#lab/peers/peers-folder.js';
import type { PeerServerName } from '#lab/peers/server.js';
import { Engine } from '#src/index.js';
import { EngineUpstream } from './engine-upstream.js';
import { REASONER } from './golden.js';
import { needsServer, startServer } from './peers.js';
import { LONG_QUESTION, QUESTION } from './requests.js';
import { type Script, startScriptedUpstream } from './scripted-upstream.js';
import { type DoubleOptions, llamaCppDouble, vllmDouble } from './upstream-doubles.js';

/** Features that some servers do not offer, as docs/upstreams.md says. */
export type Feature =
  | 'promptIds'
  | 'continueFinalMessage'
  | 'unicode'
  | 'longPrompt'
  | 'tooManyTokens'
  | 'unknownModel'
  | 'scorer';

/** The model that a server runs, and what it is asked. */
export interface SubjectModel {
  readonly name: string;
  /** The same weights for the scorer; `null` for words that no model has written. */
  readonly checkpoint: string | null;
  /** Tokens of prompt and answer together. */
  readonly context: number;
  /** Question with an answer that is long enough. */
  readonly question: string;
  /** Question with an answer of some hundred tokens. */
  readonly endless: string;
}

export interface RunningSubject {
  /** Address, up to and with `/v1`. */
  readonly url: string;
  /** `SIGKILL`, `SIGSTOP`, `SIGCONT`. */
  signal(name: NodeJS.Signals): void;
  /** Answers that it is writing. */
  running(): Promise<number>;
  close(): Promise<void>;
}

/** A server, real or a double, with a model. */
export interface Subject {
  readonly name: string;
  readonly model: SubjectModel;
  readonly capabilities: Capabilities;
  /** Mean absolute difference of its log-probabilities and the scorer's that is expected at most, in nats. */
  readonly agreement: number;
  /** Timeouts long enough for answers on a busy machine, and short enough for a test to wait for them. */
  readonly timeouts: { readonly first_byte_s: number; readonly idle_s: number };
  /** Why it cannot be run; '' if it can. */
  readonly missing: string;
  /** Features that it does not offer, and why. */
  readonly not: Readonly<Partial<Record<Feature, string>>>;
  /** @param port that it is to have, as after a restart */
  readonly start: (port?: number) => Promise<RunningSubject>;
}

const MODELS = {
  reasoner: {
    context: 512,
    question: QUESTION,
    endless: LONG_QUESTION,
  },
  smollm2: {
    context: 2048,
    question: 'Why is the sky blue? Answer in five sentences.',
    endless: 'Tell me a long story of a fox who sails around the world.',
  },
} as const satisfies Readonly<Record<PeerModel, Omit<SubjectModel, 'name' | 'checkpoint'>>>;

/** How a real server tells how many answers it is writing. */
const RUNNING: Readonly<Record<PeerServerName, (origin: string) => Promise<number>>> = {
  vllm: async (origin) => {
    const metrics = await (await fetch(`${origin}/metrics`)).text();
    const line = /^vllm:num_requests_running\{[^}]*\} (\S+)$/m.exec(metrics);
    if (!line) throw new Error('no vllm:num_requests_running');
    return Number(line[1]);
  },
  'llama-cpp': async (origin) => {
    const slots: readonly { is_processing: boolean }[] = await (await fetch(`${origin}/slots`)).json();
    return slots.filter((slot) => slot.is_processing).length;
  },
};

interface RealOptions {
  readonly title?: string;
  readonly capabilities: Capabilities;
  readonly agreement?: number;
  readonly not?: Subject['not'];
  readonly args?: readonly string[];
}

export function realServer(
  server: PeerServerName,
  model: PeerModel,
  { title = server, capabilities, agreement = 0.001, not = {}, args = [] }: RealOptions,
): Subject {
  return {
    name: title,
    model: { name: model, checkpoint: checkpointOf(model), ...MODELS[model] },
    capabilities,
    agreement,
    timeouts: { first_byte_s: 60, idle_s: 20 },
    missing: needsServer(server, model).reason,
    not,
    start: async (port) => {
      const { url, signal, close } = await startServer(server, model, args, port);
      return { url, signal, close, running: () => RUNNING[server](new URL(url).origin) };
    },
  };
}

/** Answer of the doubles of words: no weights have written it, so that no scorer scores it. */
const WORDS = Array.from({ length: 24 }, (_, i) => ['Line', ` ${i}`, ' is', ' so', '.\n']).flat();

/** Some steps are more doubtful than others. */
const probability = (index: number): number => 0.6 + 0.3 * Math.sin(index) ** 2;

const DOUBLE_TIMEOUTS = { first_byte_s: 3, idle_s: 2 };

const NO_WEIGHTS = {
  scorer: 'its words are of no model',
  unicode: 'its tokens are whole words',
} as const;

function words(
  name: string,
  script: (options: DoubleOptions) => Script,
  capabilities: Capabilities,
  not: Subject['not'],
): Subject {
  return {
    name: `the double of ${name}`,
    model: { name: 'words', checkpoint: null, context: 256, question: 'Say it.', endless: 'Say it.' },
    capabilities,
    agreement: 0,
    timeouts: DOUBLE_TIMEOUTS,
    missing: '',
    not: { ...NO_WEIGHTS, ...not },
    start: async (port) => {
      let running = 0;
      let stopped = false;
      const pace = async (): Promise<void> => {
        do await setTimeout(2);
        while (stopped);
      };
      const answer = script({ answer: WORDS, probability, pace, serves: 'words', context: 256 });
      const upstream = await startScriptedUpstream(async (request, reply) => {
        while (stopped) await setTimeout(5);
        running += 1;
        await Promise.race([answer(request, reply), reply.closed]).finally(() => {
          running -= 1;
        });
      }, port);
      return {
        url: upstream.url,
        running: async () => running,
        signal: (kind) => {
          if (kind === 'SIGKILL') void upstream.close();
          else stopped = kind === 'SIGSTOP';
        },
        close: () => upstream.close(),
      };
    },
  };
}

/** The double of vLLM that has the engine behind it. */
export function engineDouble(): Subject {
  return {
    name: 'the double of vLLM with an engine',
    model: { name: 'reasoner', checkpoint: REASONER, ...MODELS.reasoner },
    capabilities: { tokenIds: 'return_token_ids', logprobs: 20, resume: 'tokens' },
    agreement: 1e-5,
    timeouts: DOUBLE_TIMEOUTS,
    missing: '',
    not: { unknownModel: 'it takes any name of a model' },
    start: async (port) => {
      const engine = await Engine.open(REASONER);
      const upstream = await EngineUpstream.start(
        engine,
        { tokenIds: true, logprobs: true, continues: true, completions: true },
        port,
      );
      const close = async (): Promise<void> => {
        await upstream.close();
        await engine.close();
      };
      return {
        url: upstream.url,
        running: async () => upstream.running,
        signal: (kind) => {
          if (kind === 'SIGKILL') void close();
          else upstream.stopped = kind === 'SIGSTOP';
        },
        close,
      };
    },
  };
}

/** Doubles that need no more than words. */
export const doubles: readonly Subject[] = [
  words('vLLM', vllmDouble, { tokenIds: 'return_token_ids', logprobs: 2, resume: 'tokens' }, {}),
  words(
    'llama.cpp',
    llamaCppDouble,
    { tokenIds: 'return_tokens', logprobs: 2, resume: 'tokens' },
    {
      promptIds: 'llama.cpp does not tell the ids of a prompt',
      tooManyTokens: 'llama.cpp ends at its context whatever max_tokens says',
      unknownModel: 'llama.cpp takes any name of a model',
    },
  ),
];
