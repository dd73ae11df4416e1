import type { Recorded } from './recordings.js';

/** The folder of the recordings. */
export const VLLM = 'vllm-0.32.0';

const MODEL = 'smollm2';
const SKY = [{ role: 'user', content: 'Why is the sky blue?' }];
const PARIS = [{ role: 'user', content: 'What is the capital of France?' }];
const ODD = [{ role: 'user', content: 'Write five emoji of animals: 🐱🐶' }];

/** Fields that flinch sends. */
const STREAM = {
  model: MODEL,
  stream: true,
  stream_options: { include_usage: true },
  return_token_ids: true,
  temperature: 0,
};
const TOLD = { logprobs: true, top_logprobs: 2 };
const chat = (body: object): Recorded => ({
  path: '/v1/chat/completions',
  body: { ...STREAM, ...TOLD, messages: SKY, max_tokens: 8, ...body },
});
const completion = (body: object): Recorded => ({
  path: '/v1/completions',
  body: { ...STREAM, logprobs: 2, max_tokens: 8, ...body },
});

/** The main shapes of requests, which a vLLM with SmolLM2 is asked. */
export const VLLM_REQUESTS: Readonly<Record<string, Recorded>> = {
  models: { path: '/v1/models', body: null },
  chat: chat({}),
  'chat-that-ends': chat({ messages: PARIS, max_tokens: 30 }),
  'chat-with-stop': chat({ stop: ['on lies'], max_tokens: 16 }),
  'chat-of-characters': chat({ messages: ODD, max_tokens: 24 }),
  'continue-final-message': chat({
    messages: [...SKY, { role: 'assistant', content: 'The sky is' }],
    continue_final_message: true,
    add_generation_prompt: false,
  }),
  completion: completion({ prompt: [504, 6376, 314] }),
  'completion-of-text': completion({ prompt: 'The sky is' }),
  'refused-model': chat({ model: 'unknown-model' }),
  'refused-field': chat({ temperature: -1 }),
  'refused-type': chat({ messages: 'no list' }),
  'refused-prompt': completion({ prompt: 'word '.repeat(2100) }),
  'refused-max-tokens': chat({ max_tokens: 100_000 }),
  'refused-in-stream': chat({ top_logprobs: 21 }),
  'refused-id-in-stream': completion({ prompt: [1, 2, 999_999] }),
};

/** The same of a vLLM with `--reasoning-parser olmo3`: all is reasoning until the model ends it, which it does not. */
export const VLLM_REASONING: Readonly<Record<string, Recorded>> = {
  reasoning: chat({ messages: [{ role: 'user', content: 'What is 1 + 1?' }], max_tokens: 24 }),
};
