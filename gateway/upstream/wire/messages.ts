import { createParser } from 'eventsource-parser';
import { UpstreamError } from '../errors.js';

const notUtf8 = () => new UpstreamError('upstream_error', 'the upstream sent bytes that are not UTF-8');
const tooLong = () => new UpstreamError('upstream_error', 'the upstream sent a line that is too long');

/** The messages of a body: the `data:` of Server-Sent Events, lines of JSON, or the whole of it. */
export class Messages {
  readonly #feed: Feed;
  #whole: string[] = [];
  // Fatal: a text with replaced characters would be passed on as what the model wrote. It takes a byte order mark away.
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });

  /** @param limit characters that may be buffered of a message that has not ended */
  constructor(framing: keyof typeof FRAMINGS, limit: number) {
    this.#feed = FRAMINGS[framing]((data) => this.#whole.push(data), limit);
  }

  /**
   * Messages that end within these bytes.
   * @throws UpstreamError
   */
  push(bytes: Uint8Array): readonly string[] {
    return this.#read(this.#decode(bytes));
  }

  /** The one that the end of the body ends: many servers send no empty line after the last. */
  end(): readonly string[] {
    return this.#read('\n\n', true);
  }

  #read(text: string, end = false): readonly string[] {
    this.#feed(text, end);
    const whole = this.#whole;
    this.#whole = [];
    return whole;
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

function lines(emit: Emit, limit: number): Feed {
  // Joined once a line has ended: a long one in small parts would be copied at each of them.
  let rest: string[] = [];
  let length = 0;
  return (text) => {
    rest.push(text);
    length += text.length;
    if (text.includes('\n')) {
      const parts = rest.join('').split('\n');
      const last = parts.pop() ?? '';
      for (const line of parts) if (line.trim() !== '') emit(line);
      rest = [last];
      length = last.length;
    }
    if (length > limit) throw tooLong();
  };
}

const FRAMINGS = { sse, lines, whole };
