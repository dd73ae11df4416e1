import { type Encoding, SILENT } from '../generations/live-generation.js';
import { jsonText } from '../requests/exact-numbers.js';
import { chatSchema, parse } from '../requests/generation-request.js';
import { CHAT_FORM, type ChoiceForm } from './choice-form.js';
import { Completion } from './completion.js';
import type { AnswerEncoding, GenerationApi } from './generation-routes.js';
import type { Answered } from './said-guard.js';
import { sseEvent } from './sse.js';
import { verbatimChunks, wholeVerbatim } from './verbatim-chunks.js';
import { WholeCompletion } from './whole-completion.js';

/** `/v1/chat/completions`. */
export const CHAT_COMPLETIONS: GenerationApi = {
  prefix: 'chatcmpl-',
  read: (body) => {
    const request = parse(chatSchema, body);
    const { stream, resumable, logprobs, stream_options: options } = request;
    const asked = {
      form: CHAT_FORM,
      stream: stream === true,
      logprobs: logprobs === true,
      includeUsage: options?.include_usage === true,
    };
    return {
      fields: request,
      stream: asked.stream,
      resumable: resumable === true,
      kept: !asked.stream,
      encode: (answer, about) => choicesEncoding(asked, answer, about),
    };
  },
};

interface ResponseOptions {
  readonly form: ChoiceForm;
  readonly stream: boolean;
  readonly logprobs: boolean;
  readonly includeUsage: boolean;
}

/** Completions, of a chat or of a prompt. */
export function choicesEncoding(
  { stream, ...asked }: ResponseOptions,
  { model, vocabulary, guard, form: comes }: Answered,
  { id, idPrefix, tell }: AnswerEncoding,
): Encoding {
  const options = { id, model, guard, ...asked };
  if (comes === 'chunks') return stream ? verbatimChunks(options, idPrefix) : wholeVerbatim(options);
  if (!stream) return whole(new WholeCompletion({ ...options, vocabulary }), tell);
  return chunked(new Completion({ ...options, vocabulary, comes }), idPrefix);
}

/** A completion as chunks. Until the first event an error is a plain response; from then on there is no `[DONE]`. */
const chunked = (completion: Completion, idPrefix: string): Encoding => ({
  ...SILENT,
  event: (event, offset) => {
    const chunks = completion.chunks(event).map(jsonText);
    if (offset === 0) chunks.unshift(jsonText(completion.opening()));
    if (event.type === 'generation.done') chunks.push('[DONE]');
    return chunks.map((chunk, i) => sseEvent(chunk, `${idPrefix}/${offset + i}`));
  },
  failed: ({ body }, offset) => [sseEvent({ error: body }, `${idPrefix}/${offset}`)],
});

/** A completion as one JSON text in parts, once all of it is there; its verdict is also told in headers. */
const whole = (completion: WholeCompletion, tell: AnswerEncoding['tell']): Encoding => ({
  ...SILENT,
  event: (event) => {
    completion.add(event);
    if (event.type !== 'generation.done') return [];
    tell(event.verdict);
    return completion.json();
  },
});
