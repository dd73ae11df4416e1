import { type Encoding, SILENT } from '../generations/live-generation.js';
import { jsonText } from '../requests/exact-numbers.js';
import { parse } from '../requests/generation-request.js';
import { chatOf, type ResponseRequest, responseSchema } from '../requests/response-request.js';
import type { AnswerEncoding, GenerationApi } from './generation-routes.js';
import { type ResponseEvent, ResponseEvents } from './response-events.js';
import type { Answered } from './said-guard.js';
import { sseEvent } from './sse.js';
import { jsonOf, jsonParts } from './written-json.js';

/** Names of a chat's fields in a response. */
const NAMES = { messages: 'input', max_completion_tokens: 'max_output_tokens' };

/** `/v1/responses`, without state of our own. */
export const RESPONSES: GenerationApi = {
  prefix: 'resp_',
  read: (body) => {
    const request = parse(responseSchema, body);
    const stream = request.stream === true;
    return {
      fields: chatOf(request),
      response: request,
      stream,
      resumable: request.resumable === true,
      kept: true, // the last event has the whole response
      names: NAMES,
      encode: (answer, about) => (stream ? streamed : whole)(request, answer, about),
    };
  },
};

function streamed(request: ResponseRequest, answer: Answered, { id, idPrefix }: AnswerEncoding): Encoding {
  const response = new ResponseEvents(id, request, answer);
  const frames = (events: readonly ResponseEvent[], offset: number): string[] =>
    events.map(
      (event, i) => `event: ${event.type}\n${sseEvent(jsonOfEvent(event), `${idPrefix}/${offset + i}`)}`,
    );
  return {
    ...SILENT,
    event: (event, offset) => frames(response.push(event), offset),
    failed: (error, offset) => frames(response.fail(error), offset),
  };
}

/** JSON of an event. The most frequent type has no fields that are JSON already. */
const jsonOfEvent = (event: ResponseEvent): string =>
  event.type === 'response.output_text.delta' ? jsonText(event) : jsonOf(event);

/** Encodes the response as in the last event of its stream. */
function whole(request: ResponseRequest, answer: Answered, { id, tell }: AnswerEncoding): Encoding {
  const response = new ResponseEvents(id, request, answer);
  return {
    ...SILENT,
    event: (event) => {
      response.push(event);
      if (event.type !== 'generation.done') return [];
      tell(event.verdict);
      return jsonParts(response.response);
    },
  };
}
