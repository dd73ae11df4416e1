import { z } from 'zod';
import { upTo } from '../../src/files/limited-list.js';
import { messages } from './message-fields.js';

/** Choices and parts of one answer, or texts of one conversation. */
const MAX_TEXTS = 1000;

const list = z.array(z.unknown()).nullish();

/** Request of LiteLLM's generic guardrail API: `GenericGuardrailAPIRequest`, as far as it is read. */
export const guardrailSchema = z.looseObject({
  input_type: z.enum(['request', 'response']).describe('Which of the two `texts` are of.'),
  texts: z
    .preprocess(upTo(MAX_TEXTS, z.string()), z.array(z.string()).max(MAX_TEXTS))
    .nullish()
    .describe('Of a response: each is scored as an answer.'),
  structured_messages: messages
    .nullish()
    .describe(
      'What the texts answer. LiteLLM sends it with the request only; then `litellm_call_id` is needed.',
    ),
  litellm_call_id: z
    .string()
    .max(128)
    .nullish()
    .describe('The messages of a request are kept under it, for the response to it.'),
  tools: list.describe('Tools of the request, for the chat template.'),
  tool_calls: list.describe('Not scored.'),
  images: list.describe('Not scored.'),
  additional_provider_specific_params: z
    .looseObject({ model: z.string().nullish().describe('The model that scores. Default: the only model.') })
    .nullish(),
});

export type GuardrailRequest = z.output<typeof guardrailSchema>;
