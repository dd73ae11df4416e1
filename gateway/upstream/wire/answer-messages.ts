import { createParser, type EventSourceParser } from 'eventsource-parser';
import { UpstreamError } from '../upstream-error.js';

const notUtf8 = () => new UpstreamError('upstream_error', 'the upstream sent bytes that are not UTF-8');
const tooLong = () => new UpstreamError('upstream_error', 'the upstream sent a line that is too long');

/** The messages of a body: the `data:` of Server-Sent Events, or the whole of it. */
export class Messages {
  /** `null` for a body that is one message. */
  readonly #parser: EventSourceParser | null;
  readonly #limit: number;
  // Fatal: a text with replaced characters would be passed on as what the model wrote. It takes a byte order mark away.
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  /** Messages that have ended, or the parts of the one that has not. */
  #read: string[] = [];
  #length = 0;
  #overflow = false;

  /**
   * @param isWhole whether the body is one message
   * @param limit characters that may be buffered of a message that has not ended
   */
  constructor(isWhole: boolean, limit: number) {
    this.#limit = limit;
    this.#parser = isWhole
      ? null
      : createParser({
          maxBufferSize: limit,
          // Some servers send events without data while nothing is written.
          onEvent: ({ data }) => {
            if (data.trim() !== '') this.#read.push(data);
          },
          onError: ({ type }) => {
            this.#overflow ||= type === 'max-buffer-size-exceeded';
          },
        });
  }

  /**
   * Messages that end within these bytes.
   * @throws UpstreamError
   */
  push(bytes: Uint8Array): readonly string[] {
    const text = this.#decode(bytes);
    if (this.#parser) return this.#parsed(this.#parser, text);
    this.#length += text.length;
    if (this.#length > this.#limit) throw tooLong();
    this.#read.push(text);
    return [];
  }

  /** The one that the end of the body ends: many servers send no empty line after the last. */
  end(): readonly string[] {
    return this.#parser ? this.#parsed(this.#parser, '\n\n') : [this.#read.join('')];
  }

  #parsed(parser: EventSourceParser, text: string): readonly string[] {
    parser.feed(text);
    if (this.#overflow) throw tooLong();
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
