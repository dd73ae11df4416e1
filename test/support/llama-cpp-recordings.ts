import { fileURLToPath } from 'node:url';
import type { PeerModel } from '#lab/peers/folder.js';
import type { Recorded } from './recordings.js';

/** The folder of the recordings, after the commit of llama.cpp. */
export const LLAMA_CPP = 'llama-cpp-0c1e57098';

/** A template that has a place for reasoning, which llama.cpp finds out from it. */
export const THINKING_TEMPLATE = fileURLToPath(
  new URL('../fixtures/templates/thinking.jinja', import.meta.url),
);

const STONES =
  'Maya has 11 stones. Then Maya sells 3. Maya finds 67 more. How many stones are there at the end?';

/** Fields that flinch sends. */
const STREAM = { stream: true, stream_options: { include_usage: true } };
const GREEDY = { ...STREAM, timings_per_token: true, temperature: 0 };
const TOLD = { logprobs: true, top_logprobs: 2 };
const ask = (content: string) => [{ role: 'user', content }];
const chat = (content: string, body: object): Recorded => ({
  path: '/v1/chat/completions',
  body: { ...GREEDY, ...TOLD, messages: ask(content), ...body },
});
const prefix = (content: string, text: string, body: object): Recorded =>
  chat(content, { messages: [...ask(content), { role: 'assistant', content: text }], ...body });
const completion = (body: object): Recorded => ({
  path: '/v1/completions',
  body: { ...GREEDY, logprobs: 2, ...body },
});
const CONTINUES = { continue_final_message: true, add_generation_prompt: false };

/** The probe's requests, in order. */
const probing = (model: string): Readonly<Record<string, Recorded>> => {
  const few = { model, max_tokens: 2, temperature: undefined };
  const one = { ...few, top_logprobs: 1, ...CONTINUES };
  return {
    'probe-1': chat('Count.', {
      ...few,
      top_logprobs: 20,
      return_token_ids: true,
      timings_per_token: undefined,
    }),
    'probe-2': completion({ ...few, prompt: [1, 2, 3], logprobs: 1 }),
    'probe-3': prefix('Count.', 'a a a a', one),
    'probe-4': prefix('Count.', 'a a a a a a a a', one),
    'probe-5': prefix('Count.', 'a a a a\n', one),
  };
};

/** A server that is asked, and what. */
export interface RecordedServer {
  readonly name: string;
  readonly model: PeerModel;
  readonly args: readonly string[];
  readonly requests: Readonly<Record<string, Recorded>>;
  /** The recordings are of a model that is gone; `FLINCH_RECORD=1` makes those of today's. */
  readonly modelIsGone?: true;
}

/** The first one may begin at `11`, but does not; the second one begins within ` start`. */
const STOPS = { 'chat-with-stop': ['11 + 6'], 'chat-with-stop-within-a-token': ['rt'] };

export const THOUGHTS = [
  { role: 'user', content: 'What is 2 + 3?' },
  { role: 'assistant', reasoning_content: '2 + 3 is 5.', content: 'The answer is 5.' },
  { role: 'user', content: 'What is 4 + 4?' },
  { role: 'assistant', reasoning_content: '4 + 4 is 8.', content: 'The answer is 8.' },
  { role: 'user', content: 'What is 1 + 6?' },
];

export const LLAMA_CPP_SERVERS: readonly RecordedServer[] = [
  {
    name: 'the reasoner',
    model: 'reasoner',
    modelIsGone: true,
    args: [],
    requests: {
      ...probing('reasoner'),
      models: { path: '/v1/models', body: null },
      chat: chat(STONES, { max_tokens: 16 }),
      'chat-that-ends': chat('What is 12 + 30 - 5?', { max_tokens: 64 }),
      ...Object.fromEntries(
        Object.entries(STOPS).map(([name, stop]) => [name, chat(STONES, { max_tokens: 24, stop })]),
      ),
      'chat-cut-while-held-back': chat('What is 12 + 30 - 5?', { max_tokens: 10, stop: ['compute 9'] }),
      completion: completion({ prompt: [538, 78, 369], max_tokens: 8 }),
      'completion-with-stop': completion({ prompt: 'First, compute 12', max_tokens: 8, stop: [' + 3'] }),
      'continue-final-message': prefix(STONES, 'First, ', { max_tokens: 8, ...CONTINUES }),
      // Repeats what was there.
      'prefilled-message': prefix(STONES, 'First, ', { max_tokens: 8 }),
      'refused-prompt': chat('long '.repeat(600), { max_tokens: 8 }),
      'refused-type': chat('Hm.', { temperature: 'hot' }),
      'refused-both': prefix('Hm.', 'Hm', { continue_final_message: true }),
      'refused-ids': completion({ prompt: [1, 999_999], max_tokens: 2 }),
      'refused-path': { path: '/v1/nothing', body: {} },
    },
  },
  {
    name: 'SmolLM2',
    model: 'smollm2',
    args: [],
    requests: {
      'chat-of-characters': chat('Write only this emoji: 🦙', { max_tokens: 12 }),
    },
  },
  {
    name: 'SmolLM2 that thinks first',
    model: 'smollm2',
    args: ['--chat-template-file', THINKING_TEMPLATE],
    requests: {
      reasoning: chat('', { messages: THOUGHTS, max_tokens: 40 }),
      'reasoning-in-the-text': chat('', { messages: THOUGHTS, max_tokens: 40, reasoning_format: 'none' }),
    },
  },
];
