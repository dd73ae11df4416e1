import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll } from 'vitest';
import { httpReceiver } from './http-receiver.js';

export interface Asked {
  readonly path: string;
  readonly range: string | undefined;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server of one file, under every path, whose conduct a test decides request by request. */
export class FileServer {
  body: Buffer;
  /** Whether it can send parts. */
  ranges = true;
  /** Answers in place of its own to the next requests, one each. */
  readonly instead: Answer[] = [];
  readonly asked: Asked[] = [];

  constructor(body: Buffer) {
    this.body = body;
  }

  readonly serve: Answer = ({ headers }, response) => {
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? Number.NaN);
    if (!this.ranges || Number.isNaN(from)) {
      response.writeHead(200, { 'content-length': this.body.length }).end(this.body);
    } else if (from >= this.body.length) {
      response.writeHead(416, { 'content-range': `bytes */${this.body.length}` }).end();
    } else {
      const part = this.body.subarray(from);
      const range = `bytes ${from}-${this.body.length - 1}/${this.body.length}`;
      response.writeHead(206, { 'content-length': part.length, 'content-range': range }).end(part);
    }
  };

  /** Announces the whole file, sends as many bytes, and breaks the connection off, or leaves it open. */
  readonly cutAfter =
    (bytes: number, end: 'break' | 'hang' = 'break'): Answer =>
    (_, response) => {
      response.writeHead(200, { 'content-length': this.body.length });
      response.write(this.body.subarray(0, bytes), () => {
        // Data that the other side has not read by then may be lost.
        if (end === 'break') setTimeout(() => response.destroy(), 200);
      });
    };

  readonly status =
    (code: number): Answer =>
    (_, response) =>
      void response.writeHead(code).end('no');

  /** @returns its address */
  listen = (): Promise<string> =>
    httpReceiver((request, response) => {
      this.asked.push({ path: request.url ?? '', range: request.headers.range });
      (this.instead.shift() ?? this.serve)(request, response);
    }, afterAll);
}
