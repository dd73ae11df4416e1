import { createParser } from 'eventsource-parser';
import { UpstreamError } from '../errors.js';

const notUtf8 = () => new UpstreamError('upstream_error', 'the upstream sent bytes that are not UTF-8');
const tooLong = () => new UpstreamError('upstream_error', 'the upstream sent a line that is too long');

/** The messages of a body: the `data:` of Server-Sent Events, or lines of JSON. */
export class Messages {
  readonly #feed: (text: string) => void;
  #whole: string[] = [];
  // Fatal: a text with replaced characters would be passed on as what the model wrote. It takes a byte order mark away.
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });

  /** @param limit characters that may be buffered of a message that has not ended */
  constructor(framing: 'sse' | 'lines', limit: number) {
    const emit = (data: string): void => {
      this.#whole.push(data);
    };
    this.#feed = framing === 'sse' ? sse(emit, limit) : lines(emit, limit);
  }

  /**
   * Messages that end within these bytes.
   * @throws UpstreamError
   */
  push(bytes: Uint8Array): readonly string[] {
    return this.#read(this.#decode(bytes));
  }

  /** The one that the end of the body ends; what is left of another is lost. */
  end(): readonly string[] {
    // A carriage return at the end is a line's end by itself only once no newline can follow: then one does no harm.
    return this.#read('\n');
  }

  #read(text: string): readonly string[] {
    this.#feed(text);
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

function sse(emit: (data: string) => void, limit: number): (text: string) => void {
  let overflow = false;
  const parser = createParser({
    maxBufferSize: limit,
    onEvent: ({ data }) => emit(data),
    onError: ({ type }) => {
      overflow ||= type === 'max-buffer-size-exceeded';
    },
  });
  return (text) => {
    parser.feed(text);
    if (overflow) throw tooLong();
  };
}

function lines(emit: (line: string) => void, limit: number): (text: string) => void {
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
