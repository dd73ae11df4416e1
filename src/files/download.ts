import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, writeFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import pRetry, { AbortError } from 'p-retry';
import type { Response } from 'undici';
import { fetchFrom } from './fetch.js';
import { UsageError } from './file-errors.js';
import { sizeOf } from './json.js';

export interface DownloadOptions {
  readonly url: string;
  /** Headers of the request, such as a token: not sent to other hosts that it is redirected to. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Path of the file; a partial download is beside it, with the suffix `.part`. */
  readonly path: string;
  /** Limit of the bytes that are read: the size stated for the file, or the largest that such a file can have. */
  readonly mostBytes: number;
  /** Whether it is the right file, such as by its hash: also of one that came in several downloads. @throws UsageError */
  readonly verify: (path: string) => Promise<void>;
  /** Bytes that are there, and that there will be where the server says so. */
  readonly onProgress?: (bytes: number, total: number | null) => void;
  readonly signal?: AbortSignal;
  readonly retries?: number;
  /** Time before the first retry; doubled for each further one. */
  readonly retryDelayMs?: number;
}

/**
 * Downloads a file, and goes on where an earlier download stopped. Connections that break, and errors of the server
 * that may pass, are tried again. The file is put in its place whole and verified, or not at all.
 *
 * @throws UsageError that names the address and the cause
 */
export async function download(options: DownloadOptions): Promise<void> {
  const { url, path, signal, retries = 4, retryDelayMs = 500 } = options;
  const part = `${path}.part`;
  const attempt = async (): Promise<void> => {
    const resumed = await fetchPart(options, part);
    try {
      await options.verify(part);
    } catch (error) {
      await rm(part, { force: true });
      // A part that was patched together is worth one more try from the start.
      throw resumed ? error : new AbortError(asError(error));
    }
  };
  try {
    await pRetry(attempt, { retries, minTimeout: retryDelayMs, factor: 2, ...(signal && { signal }) });
  } catch (error) {
    if (signal?.aborted) throw new UsageError(`${url}: interrupted; the next download continues from here`);
    throw new UsageError(`${url}: ${asError(error).message}`);
  }
  await rename(part, path);
}

/** @returns whether it went on from what was there before */
async function fetchPart(options: DownloadOptions, part: string): Promise<boolean> {
  const { mostBytes, onProgress } = options;
  const size = (await sizeOf(part)) ?? 0;
  const known = size <= mostBytes ? size : 0;
  const response = await request(options, known);
  const resumed = response.status === 206 && startsAt(response, known);
  if (!response.ok || (response.status === 206 && !resumed)) {
    await response.body?.cancel();
    return refuse(response, part);
  }
  const before = resumed ? known : 0;
  const length = encoded(response) ? null : response.headers.get('content-length');
  const total = length === null ? null : before + Number(length);
  if (total !== null && total > mostBytes) {
    await response.body?.cancel();
    return tooLong(part, mostBytes);
  }
  const bytes = await save(response, part, { before, mostBytes }, (now) => onProgress?.(now, total));
  if (bytes > mostBytes) return tooLong(part, mostBytes);
  if (total !== null && bytes < total)
    throw new Error(`the connection ended after ${bytes} of ${total} bytes`);
  return resumed;
}

/** @param known bytes that are there */
async function request({ url, headers, signal }: DownloadOptions, known: number): Promise<Response> {
  try {
    return await fetchFrom(url, {
      // Parts of a compressed answer could not be told by their bytes.
      headers: {
        ...headers,
        'accept-encoding': 'identity',
        ...(known > 0 && { range: `bytes=${known}-` }),
      },
      signal: signal ?? null,
    });
  } catch (error) {
    throw new Error(causeOf(error));
  }
}

/** Errors that pass are thrown as such; others end the download. */
async function refuse({ status, statusText }: Response, part: string): Promise<never> {
  const error = new Error(`the server answered ${status} ${statusText}`.trim());
  if (status === 206 || status === 416) await rm(part, { force: true });
  throw status >= 500 || [206, 408, 416, 429].includes(status) ? error : new AbortError(error);
}

async function tooLong(part: string, mostBytes: number): Promise<never> {
  await rm(part, { force: true });
  throw new AbortError(`the server sends more than ${mostBytes} bytes`);
}

const startsAt = (response: Response, bytes: number): boolean =>
  response.headers.get('content-range')?.startsWith(`bytes ${bytes}-`) ?? false;

/** Compressed against our wish: its lengths are not those of the file. */
const encoded = ({ headers }: Response): boolean =>
  (headers.get('content-encoding') ?? 'identity') !== 'identity';

/**
 * Does nothing else while it writes: what comes meanwhile waits in the system's buffers, which bear that.
 * @returns bytes that are there; more than `mostBytes` where more came, of which none was written
 */
async function save(
  { body }: Response,
  part: string,
  { before, mostBytes }: { readonly before: number; readonly mostBytes: number },
  onBytes: (bytes: number) => void,
): Promise<number> {
  let bytes = before;
  onBytes(bytes);
  const file = openSync(part, before > 0 ? 'a' : 'w');
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.length;
      if (bytes > mostBytes) break; // stops reading, which closes the connection
      writeFileSync(file, chunk);
      onBytes(bytes);
    }
    fsyncSync(file);
    return bytes;
  } catch (error) {
    throw new Error(causeOf(error));
  } finally {
    closeSync(file);
  }
}

/** The SHA-256 of a file, in hexadecimal digits. */
export async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** undici says "fetch failed", and why in the cause. */
function causeOf(error: unknown): string {
  const { message, cause } = asError(error);
  if (!(cause instanceof Error)) return message;
  const first = cause instanceof AggregateError && cause.errors[0] instanceof Error ? cause.errors[0] : cause;
  return first.message || message;
}
