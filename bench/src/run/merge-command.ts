import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { UsageError } from 'flinch/internals';
import { z } from 'zod';
import { type RunSettings, WHOLE } from '../records/settings.js';
import { readResults, toLine } from '../result-log.js';
import { rolloutKey } from '../rollouts/label-by-rollouts.js';
import { suiteOf } from '../suites/suites.js';
import { evaluateRun } from './evaluate-run.js';
import { lockFolder } from './folder-lock.js';
import { interruptible } from './interrupt.js';
import { leftToDo } from './plan/planned-work.js';
import { hasRecords, isRun, openRecords, RESULT_FILES, readRun, sampleKey, writeRun } from './run-folder.js';
import {
  differingOfShards,
  finishedStages,
  nameOf,
  type ShardFolder,
  shardFolder,
  shardFolders,
} from './shards.js';
import { printJoined, printSummary } from './summary.js';

interface MergeOptions {
  readonly json?: boolean;
}

export function mergeCommand(): Command {
  return new Command('merge')
    .description(
      'Join the shards of a run once each has run its stages, and evaluate them together if all is scored.',
    )
    .argument('<folder>', 'folder of the run: --out of its shards')
    .option('--json', 'print the summary as JSON')
    .addHelpText(
      'after',
      `
What is joined lies in the folder of the run, where the shards of the next stages read it: limits such as --per-subset
hold for all shards together. Shards must be finished, complete, and of the same settings. Nothing is removed, and
nothing is counted twice: the same command can be repeated.

Except for times, a run that was joined is the same as one of a single process.

Examples:
  $ flinch bench run --suite tasks --limit 400 --stages generate,check,locate --shard 1/2 --out /tmp/tasks
  $ flinch bench run --suite tasks --limit 400 --stages generate,check,locate --shard 2/2 --out /tmp/tasks
  $ flinch bench merge /tmp/tasks`,
    )
    .action(merge);
}

interface ShardRun extends ShardFolder, Awaited<ReturnType<typeof readRun>> {
  readonly isScored: boolean;
}

async function merge(folder: string, { json = false }: MergeOptions): Promise<void> {
  await interruptible('the same command starts again from the beginning', async ({ signal }) => {
    const folders = shardFolders(folder);
    if (folders.length === 0) throw new UsageError(`${folder}: contains no shards of a run`);
    const releases: (() => Promise<void>)[] = [];
    try {
      for (const place of [folder, ...folders.map((shard) => shard.folder)])
        releases.push(await lockFolder(place, (error) => process.emitWarning(error), 'merge'));
      const shards: ShardRun[] = [];
      for (const place of folders) shards.push(await readShard(place));
      checkShards(folder, shards);
      signal.throwIfAborted();
      await joinShards(folder, shards);
      await finish(folder, json);
    } finally {
      for (const release of releases) await release();
    }
  });
}

/** @throws UsageError for a shard that was not run to its end, or is not what its folder's name says */
async function readShard({ folder, shard }: ShardFolder): Promise<ShardRun> {
  if (!isRun(folder)) throw new UsageError(`${folder}: has not begun; run it first`);
  const run = await readRun(folder);
  const { index, of } = run.settings.shard;
  if (index !== shard.index || of !== shard.of)
    throw new UsageError(`${folder}: contains ${nameOf(run.settings.shard)}`);
  if (finishedStages(folder) === null)
    throw new UsageError(`${folder}: was not run to its end; run it again`);
  return { folder, shard, ...run, isScored: hasRecords(folder, 'scores') };
}

/** @throws UsageError where they are not all shards of one run */
function checkShards(folder: string, shards: readonly ShardRun[]): void {
  const [first] = shards;
  for (const other of shards) {
    const differing = differingOfShards(first!, other);
    if (differing !== null)
      throw new UsageError(`${other.folder}: has another ${differing} than ${first!.folder}`);
  }
  for (const of of new Set(shards.map(({ shard }) => shard.of))) {
    const [one, ...others] = shards.filter(({ shard }) => shard.of === of);
    for (let index = 0; index < of; index += 1) {
      const place = { index, of };
      if (!shards.some(({ shard }) => shard.index === index && shard.of === of))
        throw new UsageError(`${nameOf(place)} is missing: ${shardFolder(folder, place)}`);
    }
    const stages = String(finishedStages(one!.folder));
    const odd = others.find((other) => String(finishedStages(other.folder)) !== stages);
    if (odd)
      throw new UsageError(
        `${odd.folder}: has run ${finishedStages(odd.folder)}, but ${one!.folder} ${stages}; run it again`,
      );
  }
}

const lineSchema = z.looseObject({
  id: z.string().exactOptional(),
  key: z.string().exactOptional(),
  sample: z.int().exactOptional(),
  prefix: z.int().exactOptional(),
});

async function joinShards(folder: string, shards: readonly ShardRun[]): Promise<void> {
  const settings = joinedSettings(shards);
  const { about, problems } = shards.find(({ isScored }) => isScored) ?? shards[0]!;
  writeRun(folder, settings, about, problems);
  for (const name of Object.values(RESULT_FILES)) {
    const files = [folder, ...shards.map((shard) => shard.folder)].map((place) => join(place, name));
    const [own, ...others] = files;
    if (!others.some(existsSync)) continue;
    mkdirSync(dirname(own!), { recursive: true });
    await pipeline(Readable.from(distinctLines(files)), createWriteStream(`${own}.part`));
    renameSync(`${own}.part`, own!);
  }
}

/** Lines without duplicates: of a shard that was joined before, only new lines. */
async function* distinctLines(files: readonly string[]): AsyncGenerator<string> {
  const known = new Set<string>();
  for (const file of files) {
    for await (const line of readResults(file, lineSchema)) {
      const { id = '', key, sample = 0, prefix } = line;
      const name =
        key ?? (prefix === undefined ? sampleKey({ id, sample }) : rolloutKey({ id, prefix, sample }));
      if (known.has(name)) continue;
      known.add(name);
      yield toLine(line);
    }
  }
}

/** Settings of the whole: later stages determine judge, claims and writer; the device is that of scoring. */
function joinedSettings(shards: readonly ShardRun[]): RunSettings {
  const all = shards.map(({ settings }) => settings);
  const { device, measures } = (shards.find(({ isScored }) => isScored) ?? shards[0]!).settings;
  const claims = all.find((settings) => settings.claims)?.claims;
  const writer = all.find((settings) => settings.writer)?.writer;
  return {
    ...all[0]!,
    device,
    measures,
    judge: all.find(({ judge }) => judge)?.judge ?? null,
    ...(claims && { claims }),
    ...(writer && { writer }),
    shard: WHOLE,
  };
}

/** @throws UsageError where some responses are scored, and others are not */
async function finish(folder: string, json: boolean): Promise<void> {
  const { settings, problems } = await readRun(folder);
  const records = await openRecords(folder);
  const suite = suiteOf(settings);
  const left = leftToDo({ suite, problems, isMine: () => true, settings, records, timed: 0 }, []);
  // If all responses are scored, first wrong steps are optional.
  if (settings.score === 'all' && records.located.size === 0) left.locate = 0;
  if (records.scored.size === 0 || left.generate + left.check + left.locate + left.claims > 0) {
    printJoined(folder, records.responses.size, left, json);
    return;
  }
  if (left.score > 0) {
    const stages = ['sample', ...(left.graph > 0 ? ['graph'] : []), 'score'].join();
    throw new UsageError(
      `${folder}: ${left.score} responses have no scores; run all shards with --stages ${stages}, and join them again`,
    );
  }
  printSummary(folder, await evaluateRun(folder, records), json);
}
