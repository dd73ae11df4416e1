import { readText } from 'flinch-client/protocol';
import type { Response } from 'undici';
import { z } from 'zod';
import { fetchFrom } from '../files/fetch.js';
import { UsageError } from '../files/file-errors.js';
import { listUpTo } from '../files/limited-list.js';
import type { HubModel } from './hub-model.js';
import type { HubSettings } from './hub-settings.js';

/** A file of a model at a commit. */
export interface HubFile {
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of the content for large files; git's hash, of 40 digits, for others. */
  readonly hash: string;
}

export interface HubListing {
  readonly commit: string;
  readonly files: readonly HubFile[];
}

const sha = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
/** Relative, below the folder, and in one line. */
const path = z
  .string()
  .max(1000)
  .refine((name) => /^[^\\:\p{Cc}]+$/u.test(name) && !/(^|\/)\.{0,2}(\/|$)/.test(name));

/** Limits of a listing. A file takes about 300 bytes there, and models with many shards have some hundred. */
const MOST_FILES = 20_000;
const MOST_BYTES = 8 << 20;

const listing = z.object({
  sha: sha(40),
  siblings: listUpTo(
    MOST_FILES,
    z.object({
      rfilename: path,
      size: z.int().min(0).optional(),
      blobId: sha(40).optional(),
      lfs: z.object({ sha256: sha(64), size: z.int().min(0) }).optional(),
    }),
  ),
});

/** The hub does not answer; what is in the cache may still do. */
export class HubUnreachable extends UsageError {}

/**
 * The files of a model, of which the hub tells hash and size.
 * @throws UsageError that says what to do; HubUnreachable
 */
export async function listFiles(
  { id, revision }: HubModel,
  { endpoint, token }: HubSettings,
  signal?: AbortSignal,
): Promise<HubListing> {
  const url = `${endpoint}/api/models/${id}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const { response, text } = await ask(url, token, signal);
  if (text === null) throw refusal(`${id}@${revision}`, response, token !== null);
  const parsed = listing.safeParse(jsonOf(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') || 'the answer';
    throw new UsageError(`${url}: ${field} is not what a hub answers (${issue?.message})`);
  }
  const files = parsed.data.siblings.flatMap(({ rfilename, size, blobId, lfs }): HubFile[] => {
    if (lfs) return [{ path: rfilename, bytes: lfs.size, hash: lfs.sha256 }];
    return blobId === undefined || size === undefined ? [] : [{ path: rfilename, bytes: size, hash: blobId }];
  });
  return { commit: parsed.data.sha, files };
}

export const headersOf = (token: string | null): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` };

export const addressOf = (
  { endpoint }: Pick<HubSettings, 'endpoint'>,
  { id }: Pick<HubModel, 'id'>,
  commit: string,
  path: string,
): string => `${endpoint}/${id}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`;

/** @returns `null` for what is no JSON */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @returns `null` for the text of a refusal: its headers say why */
async function ask(
  url: string,
  token: string | null,
  signal: AbortSignal | undefined,
): Promise<{ readonly response: Response; readonly text: string | null }> {
  try {
    const limit = AbortSignal.timeout(30_000);
    const response = await fetchFrom(url, {
      headers: { ...headersOf(token), accept: 'application/json' },
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    if (response.ok) return { response, text: await readText(response.body, MOST_BYTES) };
    await response.body?.cancel();
    return { response, text: null };
  } catch (error) {
    if (signal?.aborted) throw new UsageError('interrupted');
    if (error instanceof RangeError) throw new UsageError(`${url}: ${error.message}`);
    const cause =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new HubUnreachable(`no network to ${new URL(url).origin} (${cause})`);
  }
}

/** Error in the hub's words, with advice. */
function refusal(model: string, { status, statusText, headers }: Response, withToken: boolean): Error {
  const said = headers.get('x-error-message') ?? '';
  const words = said ? ` ("${said.slice(0, 300)}")` : '';
  switch (headers.get('x-error-code')) {
    case 'GatedRepo':
      return new UsageError(
        `${model}: its authors give access on request${words}; ask for it on the model's page and set HF_TOKEN`,
      );
    case 'RevisionNotFound':
      return new UsageError(`${model}: the model has no such revision${words}`);
    default:
  }
  if (status === 401 || status === 403 || status === 404) {
    const token = withToken ? 'the token may not read it' : 'it is private (set HF_TOKEN)';
    return new UsageError(`${model}: is not on the hub, or ${token}${words}`);
  }
  if (status >= 500 || status === 429)
    return new HubUnreachable(`${model}: the hub answered ${status}${words}`);
  return new UsageError(`${model}: the hub answered ${status} ${statusText}${words}`.trim());
}
