import { completionSchema, generationOf } from '../requests/completion-request.js';
import { parse } from '../requests/generation-request.js';
import { choicesEncoding } from './chat-completions.js';
import { TEXT_FORM } from './choice-form.js';
import type { GenerationApi } from './generation-routes.js';

/** Names of a chat's fields in a completion. */
const NAMES = { messages: 'prompt', top_logprobs: 'logprobs' };

/** `/v1/completions`, OpenAI's older API: a prompt with no chat template around it. */
export const COMPLETIONS: GenerationApi = {
  prefix: 'cmpl-',
  read: (body) => {
    const request = parse(completionSchema, body);
    const { prompt, stream, resumable, logprobs, stream_options: options } = request;
    const asked = {
      form: TEXT_FORM,
      stream: stream === true,
      logprobs: typeof logprobs === 'number',
      includeUsage: options?.include_usage === true,
    };
    return {
      fields: generationOf(request),
      prompt,
      stream: asked.stream,
      resumable: resumable === true,
      kept: !asked.stream,
      names: NAMES,
      encode: (answer, about) => choicesEncoding(asked, answer, about),
    };
  },
};
