import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { from, lastValueFrom, mergeMap } from 'rxjs';
import { z } from 'zod';
import { type DownloadOptions, download, sha256 } from '../files/download.js';
import { UsageError } from '../files/file-errors.js';
import { lockDownloads } from '../files/folder-lock.js';
import { sizeOf } from '../files/json.js';
import { parseJsonText } from '../files/json-text.js';
import { parseWeightMap } from '../files/weight-map.js';
import { HubCache } from './hub-cache.js';
import { addressOf, type HubFile, HubUnreachable, headersOf, listFiles } from './hub-files.js';
import type { HubModel } from './hub-model.js';
import type { HubSettings } from './hub-settings.js';
import { INDEX, indexOf, neededFiles } from './needed-files.js';

/** Files that come at a time. */
const AT_ONCE = 4;

export interface PullOptions extends Pick<DownloadOptions, 'signal' | 'retries' | 'retryDelayMs'> {
  readonly settings: HubSettings;
  /** The one file of a model with GGUF files. */
  readonly gguf?: string | undefined;
  /** Computes the hashes of the files that are there again, too, and fetches those anew that are not theirs. */
  readonly verify?: boolean | undefined;
  /** Called before the first byte with the files to come. Not called if all are there. */
  readonly onStart?: (need: Need) => void;
  /** Bytes of all files so far. */
  readonly onProgress?: (bytes: number) => void;
}

export interface Need {
  readonly files: readonly HubFile[];
  readonly bytes: number;
  readonly folder: string;
}

export interface Pulled {
  /** The checkpoint's folder, or the GGUF file. */
  readonly path: string;
  readonly commit: string;
  /** Bytes that were downloaded now. */
  readonly bytes: number;
  /** The hub could not be asked, and this is what was there; else `null`. */
  readonly stale: string | null;
}

/**
 * Brings the files of a model that flinch reads into the cache of the hub's tools: what is there is not fetched again, what
 * was interrupted goes on, and every file has had the hash that the hub tells when it came.
 *
 * @throws UsageError that names the model or the file, and what to do
 */
export async function pull(model: HubModel, options: PullOptions): Promise<Pulled> {
  const { settings, gguf, signal, verify = false } = options;
  const cache = new HubCache(settings.cache, model);
  if (settings.offline) return kept(cache, model, options, 'HF_HUB_OFFLINE is set');
  let listing: Awaited<ReturnType<typeof listFiles>>;
  try {
    listing = await listFiles(model, settings, signal);
  } catch (error) {
    if (!(error instanceof HubUnreachable)) throw error;
    return kept(cache, model, options, error.message, '; HF_ENDPOINT sets a mirror of the hub');
  }
  const { commit, files } = listing;
  const index = gguf === undefined ? indexOf(files) : null;
  const needed = (shards: ReadonlySet<string>): readonly HubFile[] =>
    named(model, () => neededFiles(files, gguf, shards));
  if (!index) needed(NO_SHARDS); // before anything is made
  await mkdir(join(cache.folder, 'blobs'), { recursive: true });
  const release = await lockDownloads(cache.folder);
  try {
    if (index) {
      const { onProgress: _, ...quietly } = options;
      await fetchAll(model, commit, await missingOf([index], cache, verify), cache, quietly);
    }
    const wanted = needed(index ? await shardsOf(model, cache.blob(index.hash)) : NO_SHARDS);
    const missing = await missingOf(wanted, cache, verify);
    const bytes = missing.reduce((sum, file) => sum + file.bytes, 0);
    if (missing.length > 0) options.onStart?.({ files: missing, bytes, folder: cache.folder });
    await fetchAll(model, commit, missing, cache, options);
    for (const { path, hash } of wanted) await cache.link(commit, path, hash);
    await cache.note(model.revision, commit);
    return { path: join(cache.snapshot(commit), gguf ?? ''), commit, bytes, stale: null };
  } finally {
    await release();
  }
}

const NO_SHARDS: ReadonlySet<string> = new Set();

/** Names of the shards in an index. @throws UsageError, ModelError */
async function shardsOf({ id, revision }: HubModel, index: string): Promise<ReadonlySet<string>> {
  const where = `${id}@${revision}: ${INDEX}`;
  const json = parseJsonText(await readFile(index, 'utf8'), z.unknown(), where);
  return new Set(parseWeightMap(json, where).values());
}

async function fetchAll(
  model: HubModel,
  commit: string,
  files: readonly HubFile[],
  cache: HubCache,
  { settings, signal, onProgress, ...retrying }: PullOptions,
): Promise<void> {
  const failed = new AbortController();
  const come = new Map<HubFile, number>();
  const fetchOne = async (file: HubFile): Promise<void> => {
    const path = cache.blob(file.hash);
    await download({
      ...retrying,
      url: addressOf(settings, model, commit, file.path),
      headers: headersOf(settings.token),
      path,
      signal: signal ? AbortSignal.any([signal, failed.signal]) : failed.signal,
      mostBytes: file.bytes,
      verify: async (part) => {
        const fault = await faultOf(part, file);
        if (fault !== null) throw new UsageError(fault);
      },
      onProgress: (bytes) => {
        come.set(file, bytes);
        onProgress?.([...come.values()].reduce((sum, one) => sum + one, 0));
      },
    });
  };
  try {
    await lastValueFrom(from(files).pipe(mergeMap(fetchOne, AT_ONCE)), { defaultValue: undefined });
  } finally {
    failed.abort();
  }
}

/** Each content once. */
async function missingOf(files: readonly HubFile[], cache: HubCache, verify: boolean): Promise<HubFile[]> {
  const isThere = async (file: HubFile): Promise<boolean> =>
    verify
      ? (await faultOf(cache.blob(file.hash), file)) === null
      : (await sizeOf(cache.blob(file.hash))) === file.bytes;
  const missing = new Map<string, HubFile>();
  for (const file of files) if (!(await isThere(file))) missing.set(file.hash, file);
  return [...missing.values()];
}

/** Why a file is not the one of the listing; `null` where it is. */
async function faultOf(file: string, { hash, bytes }: HubFile): Promise<string | null> {
  const size = await sizeOf(file);
  if (size !== bytes) return `it has ${size ?? 'no'} bytes, and the hub tells ${bytes}`;
  const found = hash.length === 64 ? await sha256(file) : await gitHash(file, bytes);
  return found === hash ? null : `its hash is ${found}, and the hub tells ${hash}`;
}

/** Git hashes a file with its size before it. */
async function gitHash(file: string, bytes: number): Promise<string> {
  const hash = createHash('sha1').update(`blob ${bytes}\0`);
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** The snapshot in the cache, without asking the hub. @throws UsageError if there is none */
async function kept(
  cache: HubCache,
  model: HubModel,
  { gguf, verify }: PullOptions,
  why: string,
  advice = '',
): Promise<Pulled> {
  if (verify)
    throw new UsageError(`${model.id}@${model.revision}: --verify compares with the hub, and ${why}`);
  const commit = await cache.commitOf(model.revision);
  const snapshot = cache.snapshot(commit ?? '');
  if (commit === null || !(await sizeOf(join(snapshot, gguf ?? 'config.json'))))
    throw new UsageError(`${model.id}@${model.revision}: ${why}, and it is not in ${cache.folder}${advice}`);
  return { path: join(snapshot, gguf ?? ''), commit, bytes: 0, stale: why };
}

function named<T>({ id, revision }: HubModel, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${id}@${revision}: ${error.message}`);
    throw error;
  }
}
