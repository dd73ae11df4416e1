import { createParser } from 'eventsource-parser';
import { UpstreamError } from '../errors.js';

const notUtf8 = () => new UpstreamError('upstream_error', 'the upstream sent bytes that are not UTF-8');
const tooLong = () => new UpstreamError('upstream_error', 'the upstream sent a line that is too long');

/** The messages of a body: the `data:` of Server-Sent Events, or the whole of it. */
export class Messages {
  readonly #feed: Feed;
  #read: string[] = [];
  // Fatal: a text with replaced characters would be passed on as what the model wrote. It takes a byte order mark away.
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });

  /**
   * @param isWhole whether the body is one message
   * @param limit characters that may be buffered of a message that has not ended
   */
  constructor(isWhole: boolean, limit: number) {
    const feed = isWhole ? whole : sse;
    this.#feed = feed((data) => this.#read.push(data), limit);
  }

  /**
   * Messages that end within these bytes.
   * @throws UpstreamError
   */
  push(bytes: Uint8Array): readonly string[] {
    return this.#fed(this.#decode(bytes), false);
  }

  /** The one that the end of the body ends: many servers send no empty line after the last. */
  end(): readonly string[] {
    return this.#fed('\n\n', true);
  }

  #fed(text: string, end: boolean): readonly string[] {
    this.#feed(text, end);
    const messages = this.#read;
    this.#read = [];
    return messages;
  }

  #decode(chunk: Uint8Array): string {
    try {
      return this.#decoder.decode(chunk, { stream: true });
    } catch {
      throw notUtf8();
    }
  }
}

type Emit = (message: string) => void;
/** Takes more of the text, and whether it is the last. */
type Feed = (text: string, end: boolean) => void;

function sse(emit: Emit, limit: number): Feed {
  let overflow = false;
  const parser = createParser({
    maxBufferSize: limit,
    // Some servers send events without data while nothing is written.
    onEvent: ({ data }) => {
      if (data.trim() !== '') emit(data);
    },
    onError: ({ type }) => {
      overflow ||= type === 'max-buffer-size-exceeded';
    },
  });
  return (text) => {
    parser.feed(text);
    if (overflow) throw tooLong();
  };
}

function whole(emit: Emit, limit: number): Feed {
  const parts: string[] = [];
  let length = 0;
  return (text, end) => {
    parts.push(text);
    length += text.length;
    if (length > limit) throw tooLong();
    if (end) emit(parts.join(''));
  };
}
