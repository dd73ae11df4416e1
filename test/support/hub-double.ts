import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll } from 'vitest';
import { httpReceiver } from './http-receiver.js';

export const COMMIT = 'c0ffee'.repeat(7).slice(0, 40);

export type HubAnswer = (request: IncomingMessage, response: ServerResponse) => void;

export const gitHash = (body: Buffer): string =>
  createHash('sha1').update(`blob ${body.length}\0`).update(body).digest('hex');
export const sha256Of = (body: Buffer): string => createHash('sha256').update(body).digest('hex');

/**
 * Plays the Hugging Face hub as its documentation has it: the listing of a model
 * (`/api/models/ID/revision/REVISION?blobs=true`), its files (`/ID/resolve/COMMIT/FILE`). Large files are redirected to
 * another host that must not see the token.
 */
export class HubDouble {
  readonly files = new Map<string, Buffer>();
  /** Files from this size on lie on the other host. */
  largeFrom = 1000;
  /** Answers in place of the next ones about a file, one each. */
  readonly instead = new Map<string, HubAnswer[]>();
  /** Answer in place of the listing. */
  listing: HubAnswer | null = null;
  readonly asked: {
    readonly path: string;
    readonly token: string | undefined;
    readonly range: string | undefined;
  }[] = [];
  url = '';
  #store = '';

  /** Entry of a file in the listing, for tests that change it. */
  entryOf(path: string): Record<string, unknown> {
    const body = this.files.get(path) ?? Buffer.alloc(0);
    const large = body.length >= this.largeFrom;
    return {
      rfilename: path,
      size: body.length,
      blobId: gitHash(body),
      ...(large && { lfs: { sha256: sha256Of(body), size: body.length, pointerSize: 130 } }),
    };
  }

  asListing(siblings = [...this.files.keys()].map((path) => this.entryOf(path))): object {
    return { _id: '1', id: 'tiny/model', sha: COMMIT, private: false, gated: false, tags: [], siblings };
  }

  /** Files that were asked for, by the first host. */
  get fetched(): string[] {
    return this.asked.flatMap(({ path }) =>
      path.startsWith('/resolve/') ? [] : (path.split(`/resolve/${COMMIT}/`)[1] ?? []),
    );
  }

  async listen(): Promise<void> {
    this.#store = await httpReceiver((request, response) => this.#send(request, response), afterAll);
    this.url = await httpReceiver((request, response) => this.#answer(request, response), afterAll);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url ?? '', 'http://hub');
    this.#note(request);
    this.#answerTo(pathname)(request, response);
  }

  #answerTo(pathname: string): HubAnswer {
    if (pathname.startsWith('/api/models/'))
      return this.listing ?? ((_, response) => void response.end(JSON.stringify(this.asListing())));
    const path = decodeURIComponent(pathname.split(`/resolve/${COMMIT}/`)[1] ?? '');
    const instead = this.instead.get(path)?.shift();
    if (instead) return instead;
    const body = this.files.get(path);
    const location = `${this.#store}/resolve/${COMMIT}/${path}`;
    return (request, response) => {
      if (!body) response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end();
      else if (body.length < this.largeFrom) this.#send(request, response);
      else response.writeHead(302, { location }).end();
    };
  }

  #send(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent((request.url ?? '').split(`/resolve/${COMMIT}/`)[1] ?? '');
    if (!request.headers.host?.endsWith(new URL(this.url || this.#store).port)) this.#note(request);
    const body = this.files.get(path) ?? Buffer.alloc(0);
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const part = body.subarray(from);
    const range = { 'content-range': `bytes ${from}-${body.length - 1}/${body.length}` };
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': part.length, ...(from > 0 && range) });
    response.end(part);
  }

  /** Sends as many bytes of a file, and breaks the connection once some were taken: what was not read may be lost. */
  readonly cutAfter =
    (path: string, bytes: number, taken: () => boolean): HubAnswer =>
    (_, response) => {
      const body = this.files.get(path) ?? Buffer.alloc(0);
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, bytes));
      const cut = setInterval(() => {
        if (!taken()) return;
        clearInterval(cut);
        response.destroy();
      }, 5);
    };

  #note({ url = '', headers }: IncomingMessage): void {
    this.asked.push({ path: url, token: headers.authorization, range: headers.range });
  }
}
