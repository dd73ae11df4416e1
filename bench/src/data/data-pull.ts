import { existsSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type DownloadOptions,
  download,
  lockDownloads,
  readJsonFile,
  sha256,
  UsageError,
} from 'flinch/internals';
import { z } from 'zod';
import { type DataFile, type DataSet, MOST_BYTES } from './data-catalogue.js';

/** Record of the downloads and their addresses, beside the files of a suite. */
const LOCK_FILE = 'flinch-data.json';

const recordSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      url: z.string(),
      bytes: z.int(),
      sha256: z.string(),
      /** `pinned`: known to flinch. `first_use`: that of the file that came first; another one is refused. */
      trust: z.enum(['pinned', 'first_use']),
    }),
  ),
});
type Records = z.output<typeof recordSchema>;

export interface PullOptions extends Pick<DownloadOptions, 'signal' | 'retries' | 'retryDelayMs'> {
  /** The folder of the suite. */
  readonly folder: string;
  /** Instead of the origins: an address under which the files are as `<suite>/<file>`. */
  readonly baseUrl?: string;
  /** Replaces files that are not the published ones. */
  readonly force?: boolean;
  readonly onProgress?: (file: DataFile, bytes: number, total: number | null) => void;
}

export type Pulled = 'downloaded' | 'present';

/**
 * Gets the files of a data set that are not there yet, one after the other. A file that is there is never replaced by
 * one that is not the published one, nor, without `force`, where it is not itself the published one.
 *
 * @throws UsageError that names the file and what is wrong with it
 */
export async function pull(set: DataSet, options: PullOptions): Promise<Pulled[]> {
  mkdirSync(options.folder, { recursive: true });
  const release = await lockDownloads(options.folder);
  try {
    const done: Pulled[] = [];
    for (const file of set.files) done.push(await pullFile(set, file, options));
    return done;
  } finally {
    await release();
  }
}

async function pullFile(set: DataSet, file: DataFile, options: PullOptions): Promise<Pulled> {
  const path = join(options.folder, file.name);
  const expected = expectedOf(file, options.folder);
  const verify = (downloaded: string): Promise<void> =>
    verifyFile(file, downloaded, options.force ? file.sha256 : expected);
  if (existsSync(path)) {
    const fault = await faultOf(file, path, expected);
    if (fault === null) return record(file, path, file.url, options.folder, 'present');
    if (!options.force) throw new UsageError(`${path}: ${fault}; --force replaces it`);
  }
  const url = options.baseUrl ? `${options.baseUrl.replace(/\/+$/, '')}/${set.suite}/${file.name}` : file.url;
  const onProgress = (bytes: number, total: number | null): void =>
    options.onProgress?.(file, bytes, total ?? file.bytes);
  const { signal, retries, retryDelayMs } = options;
  await download({
    url,
    path,
    mostBytes: file.bytes ?? MOST_BYTES,
    verify,
    onProgress,
    ...(signal && { signal }),
    ...(retries !== undefined && { retries }),
    ...(retryDelayMs !== undefined && { retryDelayMs }),
  });
  return record(file, path, url, options.folder, 'downloaded');
}

/** The checksum that is known: that of flinch, or else of the first download. */
const expectedOf = (file: DataFile, folder: string): string | null =>
  file.sha256 ?? readRecords(folder).files[file.name]?.sha256 ?? null;

/** Why a file is not the published one; `null` where it is. */
async function faultOf(file: DataFile, path: string, expected: string | null): Promise<string | null> {
  try {
    await verifyFile(file, path, expected);
    return null;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

async function verifyFile(file: DataFile, path: string, expected: string | null): Promise<void> {
  const { size } = statSync(path);
  if (file.bytes !== null && size !== file.bytes)
    throw new UsageError(`it has ${size} bytes, the published one ${file.bytes}`);
  const found = await sha256(path);
  if (expected !== null && found !== expected) {
    const known = file.sha256 === null ? 'that of the first download' : 'the published one';
    throw new UsageError(`its SHA-256 is ${found}, ${known} ${expected}`);
  }
  await file.check?.(await readFile(path, 'utf8'));
}

async function record(
  file: DataFile,
  path: string,
  url: string,
  folder: string,
  pulled: Pulled,
): Promise<Pulled> {
  const { files } = readRecords(folder);
  if (pulled === 'present' && files[file.name]) return pulled;
  const trust = file.sha256 === null ? 'first_use' : 'pinned';
  const entry = { url, bytes: statSync(path).size, sha256: await sha256(path), trust } as const;
  writeRecords(folder, { files: { ...files, [file.name]: entry } });
  return pulled;
}

function readRecords(folder: string): Records {
  const path = join(folder, LOCK_FILE);
  if (!existsSync(path)) return { files: {} };
  return readJsonFile(path, recordSchema);
}

function writeRecords(folder: string, records: Records): void {
  const path = join(folder, LOCK_FILE);
  writeFileSync(`${path}.new`, `${JSON.stringify(records, null, 2)}\n`);
  renameSync(`${path}.new`, path);
}

/** Numbers of files in the folder of a data set: those that were published, and others. */
export async function filesPresent(
  set: DataSet,
  folder: string,
): Promise<{ readonly published: number; readonly others: number }> {
  const faults: (string | null)[] = [];
  for (const file of set.files) {
    const path = join(folder, file.name);
    if (existsSync(path)) faults.push(await faultOf(file, path, expectedOf(file, folder)));
  }
  const published = faults.filter((fault) => fault === null).length;
  return { published, others: faults.length - published };
}
