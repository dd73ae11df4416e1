import { CLOSE_CODE_MEANINGS, ERROR_CODES, ERROR_MEANINGS, isFinal } from 'flinch/internals';
import { code, page, table } from './markdown.js';

/** Every code that an error of the gateway has, and the codes that end a WebSocket. */
export function errorsReference(): string {
  const errors = ERROR_CODES.map((name) => {
    const { status, meaning } = ERROR_MEANINGS[name];
    return [code(name), status, meaning];
  });
  const closes = CLOSE_CODE_MEANINGS.map(({ codes, whose, meaning }) => [
    codes.join(', '),
    whose,
    meaning,
    codes.every(isFinal) ? 'stop' : 'reconnect',
  ]);
  return page('Errors', '[gateway/errors/meanings.ts](../../gateway/errors/meanings.ts)', [
    'Every error is OpenAI\'s object `{"error": {"message", "type", "param", "code"}}`: `message` for people, `param` the field at fault or `null`, `code` for programs. As an answer it has the status; within a stream that has begun, and over WebSocket, it is an event.',
    '## Codes',
    table(['code', 'status', 'meaning'], errors),
    '## Close codes',
    'What ends a WebSocket, and what the client should do then. [PROTOCOL.md](../../gateway/PROTOCOL.md#ending) says how to reconnect. Of codes for later versions, those from 4000 to 4499 mean to reconnect, those from 4500 to 4999 to stop.',
    table(['code', 'whose', 'meaning', 'the client should'], closes),
  ]);
}
