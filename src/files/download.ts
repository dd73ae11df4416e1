import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import pRetry, { AbortError } from 'p-retry';
import type { Response } from 'undici';
import { z } from 'zod';
import { UsageError } from './errors.js';
import { fetchFrom } from './fetch.js';

export interface DownloadOptions {
  readonly url: string;
  /** Headers of the request, such as a token: not sent to other hosts that it is redirected to. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Path of the file; a partial download is beside it, with the suffix `.part`. */
  readonly path: string;
  /**
   * Limit of the bytes that are read: the size stated for the file, or the largest that such a file can have.
   */
  readonly mostBytes: number;
  /** The file is not put in its place unless this holds. @throws UsageError */
  readonly verify: (path: string) => Promise<void>;
  /** Bytes that are there, and that there will be where the server says so. */
  readonly onProgress?: (bytes: number, total: number | null) => void;
  readonly signal?: AbortSignal;
  readonly retries?: number;
  /** Time before the first retry; doubled for each further one. */
  readonly retryDelayMs?: number;
}

/** Source of a partial download, and the server's name for the version of the file. */
const partSchema = z.object({ url: z.string(), validator: z.string() });

/**
 * Downloads a file, and goes on where an earlier download stopped, as long as the server still has the same version
 * of it. Connections that break, and errors of the server that may pass, are tried again. The file is put in its place
 * whole and verified, or not at all.
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
      await discard(part);
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
  await rm(versionFile(part), { force: true });
}

/** @returns whether it went on from what was there before */
async function fetchPart(options: DownloadOptions, part: string): Promise<boolean> {
  const { url, mostBytes, onProgress } = options;
  const known = resumable(part, url, mostBytes);
  const response = await request(options, known);
  const resumed = response.status === 206 && known !== null && startsAt(response, known.bytes);
  if (!response.ok || (response.status === 206 && !resumed)) {
    await response.body?.cancel();
    return refuse(response, part);
  }
  const before = resumed && known ? known.bytes : 0;
  if (!resumed) await noteVersion(response, url, part);
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

interface Known {
  readonly bytes: number;
  readonly validator: string;
}

/**
 * The partial download of the same address, with the name of its version. A part without a version is of no
 * use.
 */
function resumable(part: string, url: string, mostBytes: number): Known | null {
  if (!existsSync(part) || !existsSync(versionFile(part))) return null;
  const version = partSchema.safeParse(parseJson(readFileSync(versionFile(part), 'utf8')));
  const { size } = statSync(part);
  if (!version.success || version.data.url !== url || size === 0 || size > mostBytes) return null;
  return { bytes: size, validator: version.data.validator };
}

async function request(
  { url, headers, signal }: Pick<DownloadOptions, 'url' | 'headers' | 'signal'>,
  known: Known | null,
): Promise<Response> {
  try {
    return await fetchFrom(url, {
      // Parts of a compressed answer could not be told by their bytes.
      headers: {
        ...headers,
        'accept-encoding': 'identity',
        ...(known && { range: `bytes=${known.bytes}-`, 'if-range': known.validator }),
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
  if (status === 206 || status === 416) await discard(part);
  throw status >= 500 || [206, 408, 416, 429].includes(status) ? error : new AbortError(error);
}

async function tooLong(part: string, mostBytes: number): Promise<never> {
  await discard(part);
  throw new AbortError(`the server sends more than ${mostBytes} bytes`);
}

const startsAt = (response: Response, bytes: number): boolean =>
  response.headers.get('content-range')?.startsWith(`bytes ${bytes}-`) ?? false;

/** Compressed against our wish: its lengths are not those of the file. */
const encoded = ({ headers }: Response): boolean =>
  (headers.get('content-encoding') ?? 'identity') !== 'identity';

/** Weak names of versions are of no use for parts (RFC 9110, 13.1.5). */
async function noteVersion(response: Response, url: string, part: string): Promise<void> {
  await discard(part);
  const tag = response.headers.get('etag');
  const validator = tag && !tag.startsWith('W/') ? tag : response.headers.get('last-modified');
  if (validator !== null && !encoded(response))
    writeFileSync(versionFile(part), JSON.stringify({ url, validator }));
}

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

const versionFile = (part: string): string => `${part}.json`;

async function discard(part: string): Promise<void> {
  await rm(part, { force: true });
  await rm(versionFile(part), { force: true });
}

/** The SHA-256 of a file, in hexadecimal digits. */
export async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // such as a note that a process was killed over
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** undici says "fetch failed", and why in the cause. */
function causeOf(error: unknown): string {
  const { message, cause } = asError(error);
  if (!(cause instanceof Error)) return message;
  const first = cause instanceof AggregateError && cause.errors[0] instanceof Error ? cause.errors[0] : cause;
  return first.message || message;
}
