import type { PeerServerName } from '#lab/peers/server.js';
import { THINKING_TEMPLATE, THOUGHTS } from '../support/llama-cpp-recordings.js';
import type { Exchange } from './exchange.js';

export interface RecordedServer {
  /** First word of the names of the files. */
  readonly name: string;
  readonly peer: PeerServerName | 'transformers';
  readonly args: readonly string[];
  /** Whether LiteLLM's proxy is before it. */
  readonly litellm?: true;
  readonly report: string;
  readonly requests: Readonly<Record<string, Pick<Exchange, 'api' | 'request'>>>;
}

type Request = Exchange['request'];

const chat = (content: string, request: Request): Pick<Exchange, 'api' | 'request'> => ({
  api: 'chat',
  request: { messages: [{ role: 'user', content }], temperature: 0, seed: 1, ...request },
});

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

const text = chat('What is the capital of France?', { max_tokens: 12 });
const logprobs = chat('What is the capital of France?', { max_tokens: 4, logprobs: true, top_logprobs: 2 });
const tools = chat('What is the weather in Paris?', {
  max_tokens: 96,
  tools: [WEATHER],
  tool_choice: { type: 'function', function: { name: 'get_weather' } },
});
const stop = chat('Count from one to ten, in digits.', { max_tokens: 16, stop: ['4'] });
const completion = {
  api: 'completions' as const,
  request: { prompt: 'The capital of France is', max_tokens: 4, temperature: 0, seed: 1, logprobs: 2 },
};
const response = {
  api: 'responses' as const,
  request: { input: 'What is the capital of France?', temperature: 0, max_output_tokens: 12 },
};
const thinking = chat('', { messages: THOUGHTS, max_tokens: 40 });

/** What real servers are asked, each as a stream and whole: files of `exchanges` begin with their names. */
export const RECORDED: readonly RecordedServer[] = [
  {
    name: 'vllm',
    peer: 'vllm',
    args: ['--enable-auto-tool-choice', '--tool-call-parser', 'hermes'],
    report: 'recorded: vLLM 0.32.0 on a CPU, SmolLM2-135M-Instruct',
    requests: {
      text,
      logprobs,
      tools,
      completion,
      response,
      'tokens-as-ids': chat('What is the capital of France?', {
        max_tokens: 4,
        logprobs: true,
        top_logprobs: 2,
        return_tokens_as_token_ids: true,
      }),
      'two-choices': chat('Name a colour.', { max_tokens: 4, temperature: 1, n: 2 }),
    },
  },
  {
    name: 'llama-cpp',
    peer: 'llama-cpp',
    args: ['--threads', '1'],
    report: "recorded: llama.cpp's server at 0c1e57098, SmolLM2-135M-Instruct (Q4_1)",
    requests: {
      text,
      logprobs,
      tools,
      stop,
      response,
      // Its log-probabilities of completions have the form of chats; flinch's have OpenAI's.
      completion: { ...completion, request: { ...completion.request, logprobs: undefined } },
    },
  },
  {
    name: 'llama-cpp-thinking',
    peer: 'llama-cpp',
    args: ['--threads', '1', '--chat-template-file', THINKING_TEMPLATE],
    report:
      "recorded: llama.cpp's server at 0c1e57098, SmolLM2-135M-Instruct (Q4_1), a template with thoughts",
    requests: { reasoning: thinking },
  },
  {
    name: 'litellm',
    peer: 'llama-cpp',
    args: ['--threads', '1'],
    litellm: true,
    report: "recorded: LiteLLM's proxy 1.106.2 before llama.cpp's server at 0c1e57098",
    requests: { text, logprobs, tools },
  },
  {
    name: 'transformers',
    peer: 'transformers',
    args: [],
    report: "recorded: transformers 5.19.0's `serve`, SmolLM2-135M-Instruct",
    requests: { text, response },
  },
];
