import { copyFile, mkdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { sizeOf } from '../files/json.js';
import type { HubModel } from './hub-model.js';

/**
 * The cache of the hub's tools: `models--OWNER--NAME` with `blobs/HASH`, `snapshots/COMMIT/FILE`, which link to blobs, and
 * `refs/REVISION`, which hold a commit (huggingface_hub, "Understand caching"). What another tool has fetched is there for
 * flinch, and the other way round.
 */
export class HubCache {
  readonly folder: string;

  constructor(cache: string, { id }: Pick<HubModel, 'id'>) {
    this.folder = join(cache, `models--${id.replaceAll('/', '--')}`);
  }

  blob(hash: string): string {
    return join(this.folder, 'blobs', hash);
  }

  snapshot(commit: string): string {
    return join(this.folder, 'snapshots', commit);
  }

  /** The commit that a branch or a tag was last seen at; a commit is itself. */
  async commitOf(revision: string): Promise<string | null> {
    if ((await sizeOf(this.snapshot(revision))) !== null) return revision;
    const seen = await readFile(join(this.folder, 'refs', revision), 'utf8').catch(() => null);
    return seen?.trim() ?? null;
  }

  async note(revision: string, commit: string): Promise<void> {
    if (revision === commit) return;
    const file = join(this.folder, 'refs', revision);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, commit);
  }

  /** Puts a file of the commit in its place. What is there already stays: another process may read it. */
  async link(commit: string, path: string, hash: string): Promise<void> {
    const place = join(this.snapshot(commit), path);
    const blob = this.blob(hash);
    const target = relative(dirname(place), blob);
    if ((await readlink(place).catch(() => null)) === target) return;
    await mkdir(dirname(place), { recursive: true });
    await rm(place, { force: true });
    try {
      await symlink(target, place);
    } catch {
      await copyFile(blob, place); // Windows without the right to link
    }
  }
}
