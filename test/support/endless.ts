import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

/** An answer without an end, which says how many bytes of it were taken. */
export class Endless {
  /** Bytes that the sockets took: more than was read, because systems buffer. */
  bytes = 0;
  hungUp = 0;
  readonly #chunk: Buffer;

  /** @param chunk sent over and over */
  constructor(chunk: Buffer = Buffer.alloc(65_536, 'x')) {
    this.#chunk = chunk;
  }

  readonly answer =
    (status = 200, headers: OutgoingHttpHeaders = {}, head: string | Buffer = '') =>
    (_: IncomingMessage, response: ServerResponse): void => {
      response.writeHead(status, headers);
      if (head.length > 0) response.write(head);
      onTestFinished(() => void response.destroy());
      response.once('close', () => {
        this.hungUp += 1;
      });
      const send = (): void => {
        while (!response.destroyed) {
          this.bytes += this.#chunk.length;
          if (!response.write(this.#chunk)) break;
        }
        if (!response.destroyed) response.once('drain', send);
      };
      send();
    };
}

/** More than a system buffers of a connection, at both ends, and takes while it is closed. */
export const BUFFERED = 64 << 20;
