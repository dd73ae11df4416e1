import { createReadStream, createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { UsageError } from 'flinch/internals';
import { differingSetting } from '../result-log.js';
import { suites } from '../suites/suites.js';
import { evaluateRun } from './evaluate-run.js';
import { lockFolder } from './folder-lock.js';
import { interruptible } from './interrupt.js';
import {
  claimRun,
  inOrder,
  makeFolder,
  openRecords,
  RESULT_FILES,
  type RunRecords,
  readRun,
  sampleKey,
} from './run-folder.js';
import { askedIn, isLeftOut, scoredIn, select } from './selection.js';
import { inShard, type RunSettings, WHOLE } from './settings.js';
import { printSummary } from './summary.js';

interface MergeOptions {
  readonly out: string;
  readonly json?: boolean;
}

export function mergeCommand(): Command {
  return new Command('merge')
    .description('Merge the shards of a run and evaluate them together.')
    .argument('<folders...>', 'folder of each shard')
    .requiredOption('--out <folder>', 'folder for the merged run')
    .option('--json', 'print the summary as JSON')
    .addHelpText(
      'after',
      `
The merged run equals that of a single process, except for times.

Example:
  $ flinch bench merge /tmp/shard-1 /tmp/shard-2 --out /tmp/run`,
    )
    .action(merge);
}

interface ShardRun extends Awaited<ReturnType<typeof readRun>> {
  readonly folder: string;
}

async function merge(folders: readonly string[], { out, json = false }: MergeOptions): Promise<void> {
  await interruptible('the same command starts again from the beginning', async ({ signal }) => {
    const shards: ShardRun[] = [];
    for (const folder of folders) shards.push({ folder, ...(await readRun(folder)) });
    checkShards(shards);
    if (shards.some(({ folder }) => resolve(folder) === resolve(out)))
      throw new UsageError(`--out: ${out} is one of the shards`);
    const releases: (() => Promise<void>)[] = [];
    const lock = async (folder: string): Promise<void> => {
      releases.push(await lockFolder(folder, (error) => process.emitWarning(error)));
    };
    try {
      const unlocated: (Error | null)[] = [];
      let located = 0;
      for (const shard of shards) {
        await lock(shard.folder);
        const records = await openRecords(shard.folder);
        unlocated.push(checkComplete(shard, records));
        located += records.located.size;
      }
      // Without the stage locate no shard has any.
      for (const error of unlocated) if (error && located > 0) throw error;
      signal.throwIfAborted();
      await joinShards(shards, out, lock);
      printSummary(out, await evaluateRun(out, await openRecords(out)), json);
    } finally {
      for (const release of releases) await release();
    }
  });
}

/** @throws UsageError where they are not all shards of one run, each once */
function checkShards(shards: readonly ShardRun[]): void {
  const [first, ...others] = shards;
  const unsharded = ({ settings }: ShardRun): RunSettings => inOrder({ ...settings, shard: WHOLE });
  for (const other of others) {
    const differing = differingSetting(unsharded(first!), unsharded(other));
    if (differing !== null)
      throw new UsageError(`${other.folder}: has another ${differing} than ${first!.folder}`);
  }
  const { of } = first!.settings.shard;
  const odd = shards.find(({ settings: { shard } }) => shard.of !== of);
  if (odd) throw new UsageError(`${odd.folder}: is one of ${odd.settings.shard.of} shards, not of ${of}`);
  for (let index = 0; index < of; index += 1) {
    const name = `shard ${index + 1} of ${of}`;
    const [one, twin] = shards.filter(({ settings: { shard } }) => shard.index === index && shard.of === of);
    if (!one) throw new UsageError(`${name} is missing`);
    if (twin) throw new UsageError(`${name} is given twice: ${one.folder} and ${twin.folder}`);
  }
}

/**
 * @returns an error where a first wrong step has not been looked for
 * @throws UsageError where else a shard was not run to its end, or holds what is another's
 */
function checkComplete({ folder, settings, problems }: ShardRun, records: RunRecords): UsageError | null {
  const suite = suites[settings.suite];
  const judged = suite.judged === 'claims' ? records.claims : records.checks;
  const mine = inShard(problems, settings.shard);
  const incomplete = (what: string, id: string): UsageError =>
    new UsageError(`${folder}: ${what} ${id}; complete this run first`);
  for (const { id } of askedIn(suite, mine, records, settings)) {
    const response = records.responses.get(id);
    if (!response) throw incomplete('has no response to', id);
    if (!isLeftOut(response) && !judged.has(id)) throw incomplete('has not checked', id);
  }
  for (const id of scoredIn(suite, mine, records, settings)) {
    if (!records.scored.has(id)) throw incomplete('has no scores of', id);
    for (let sample = 1; sample <= settings.samples; sample += 1) {
      if (!records.samples.has(sampleKey({ id, sample })))
        throw incomplete(`has no further response ${sample} to`, id);
    }
  }
  if (records.responses.size > mine.length)
    throw new UsageError(`${folder}: holds responses to problems of other shards`);
  const { next } = select(mine, records, { scored: settings.score, perSubset: settings.perSubset });
  return next[0] ? incomplete('has not looked for the first wrong step of', next[0].id) : null;
}

async function joinShards(
  shards: readonly ShardRun[],
  out: string,
  lock: (folder: string) => Promise<void>,
): Promise<void> {
  makeFolder(out);
  await lock(out);
  const { settings, about, problems } = shards[0]!;
  claimRun(out, { ...settings, shard: WHOLE }, about, problems);
  for (const name of Object.values(RESULT_FILES)) {
    const part = join(out, `${name}.part`);
    rmSync(part, { force: true });
    for (const { folder } of shards) {
      const file = join(folder, name);
      if (existsSync(file)) await pipeline(createReadStream(file), createWriteStream(part, { flags: 'a' }));
    }
    if (existsSync(part)) renameSync(part, join(out, name));
  }
}
