import { ERRORS } from '../../gateway/errors/codes.js';
import { CLOSE_CODE_MEANINGS, isFinal } from '../../gateway/websocket/close-codes.js';
import { code, page, table } from './reference-markdown.js';

/** Every code that an error of the gateway has, and the codes that end a WebSocket. */
export function errorsReference(): string {
  const errors = Object.entries(ERRORS).map(([name, { status, meaning }]) => [
    code(name),
    String(status),
    meaning,
  ]);
  const closes = CLOSE_CODE_MEANINGS.map(({ codes, whose, meaning }) => [
    codes.join(', '),
    whose,
    meaning,
    codes.every(isFinal) ? 'stop' : 'reconnect',
  ]);
  return page('Errors', '[gateway/errors/codes.ts](../../gateway/errors/codes.ts)', [
    'All error codes and close codes, with their meaning. An error has the form of OpenAI\'s API, `{"error": {"message", "type", "param", "code"}}`: `message` is for people, `param` is the invalid field or `null`, `code` is for programs. `type` is `server_error` for a status of 500 or more, otherwise `invalid_request_error`. An error response has the status below. In a running stream and over WebSocket, the error is an event without a status.',
    '## Codes',
    table(['code', 'status', 'meaning'], errors),
    '## Close codes',
    'The codes that close a WebSocket, and the correct reaction of a client. [PROTOCOL.md](../../gateway/PROTOCOL.md#ending) describes how to reconnect. Codes of later versions: reconnect on 4000 to 4499, stop on 4500 to 4999.',
    table(['code', 'sent by', 'meaning', 'client'], closes),
  ]);
}
