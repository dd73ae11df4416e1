import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonFile, UsageError } from 'flinch/internals';
import { z } from 'zod';
import { checkSchema, locatedSchema } from '../records/records.js';
import { type RunSettings, type Shard, WHOLE } from '../records/settings.js';
import { differingSetting, Ledger, SETTINGS_FILE, writeWhole } from '../result-log.js';
import {
  hasRecords,
  isRun,
  openRecords,
  peekRecords,
  RESULT_FILES,
  type RunRecords,
  readSettings,
  SHARDS,
} from './run-folder.js';
import { STAGES, type StageName } from './stage-names.js';

/**
 * The shards of a run are folders in `shards` of its own folder, which holds what was joined of earlier stages. A shard
 * reads both, and what the other shards have found out, and writes into its own folder alone.
 */

export const nameOf = ({ index, of }: Shard): string => `shard ${index + 1} of ${of}`;

export const shardFolder = (folder: string, { index, of }: Shard): string =>
  join(folder, SHARDS, `${index + 1}-of-${of}`);

export interface ShardFolder {
  readonly folder: string;
  readonly shard: Shard;
}

/** Shards that have begun, in their order. */
export function shardFolders(folder: string): ShardFolder[] {
  const all = join(folder, SHARDS);
  const names = existsSync(all) ? readdirSync(all) : [];
  return names
    .flatMap((name): ShardFolder[] => {
      const [, index, of] = /^(\d+)-of-(\d+)$/.exec(name) ?? [];
      const shard = { index: Number(index) - 1, of: Number(of) };
      return index === undefined ? [] : [{ folder: join(all, name), shard }];
    })
    .toSorted((a, b) => a.shard.of - b.shard.of || a.shard.index - b.shard.index);
}

/** The results of a shard, beside all that is known of the rest. @throws UsageError for a line that does not fit */
export async function openShard(
  folder: string,
  shard: Shard,
): Promise<{ readonly records: RunRecords; readonly refresh: () => Promise<void> }> {
  const own = shardFolder(folder, shard);
  const records = await openRecords(own);
  learn(records, await peekRecords(folder));
  const refresh = async (): Promise<void> => {
    for (const { folder: other } of shardFolders(folder)) {
      if (other === own) continue;
      // All that decides how many wrong responses there are.
      const peek = [join(other, RESULT_FILES.checks), join(other, RESULT_FILES.located)] as const;
      records.checks.learn(await Ledger.peek(peek[0], checkSchema, ({ id }) => id));
      records.located.learn(await Ledger.peek(peek[1], locatedSchema, ({ id }) => id));
    }
  };
  return { records, refresh };
}

/** Takes over all that others have found out, without writing it. */
export function learn(records: RunRecords, other: RunRecords): void {
  records.responses.learn(other.responses);
  records.checks.learn(other.checks);
  records.located.learn(other.located);
  records.rollouts.learn(other.rollouts);
  records.claims.learn(other.claims);
  records.samples.learn(other.samples);
  records.graphs.learn(other.graphs);
  records.scored.learn(other.scored);
  records.times.learn(other.times);
  records.judge.learn(other.judge);
}

const FINISHED = 'finished.json';
const finishedSchema = z.object({ stages: z.array(z.enum(STAGES)) });

/** Says that a shard has run these stages to their end; `null` that it goes on. */
export function markFinished(folder: string, stages: readonly StageName[] | null): void {
  const file = join(folder, FINISHED);
  if (stages === null) rmSync(file, { force: true });
  else writeWhole(file, `${JSON.stringify({ stages })}\n`);
}

/** The stages that a shard has run to their end the last time; `null` where it has not. */
export function finishedStages(folder: string): readonly StageName[] | null {
  const file = join(folder, FINISHED);
  return existsSync(file) ? readJsonFile(file, finishedSchema).stages : null;
}

/** @throws UsageError that names the first setting that differs from those of the run that a shard is of */
export function checkShard(folder: string, settings: RunSettings, isScored: boolean): void {
  const there = readSettings(folder);
  const differing = differingOfShards(
    { settings, isScored },
    { settings: there, isScored: hasRecords(folder, 'scores') },
  );
  if (differing === null) return;
  throw new UsageError(`--out: ${folder} contains a run with another ${differing}`);
}

/**
 * Adopts the device of this machine if nothing is scored yet: a shard can then go on on another machine, as
 * the device that counts is that of scoring.
 */
export function adoptDevice(folder: string, { device }: RunSettings): void {
  if (!isRun(folder) || hasRecords(folder, 'scores')) return;
  const settings = { ...readSettings(folder), device };
  writeWhole(join(folder, SETTINGS_FILE), `${JSON.stringify(settings, null, 2)}\n`);
}

export interface ShardSettings {
  readonly settings: RunSettings;
  /** Whether it scores: else its device makes no difference. */
  readonly isScored: boolean;
}

/**
 * The first setting that keeps two shards from being of one run. Stages can run on different machines:
 * writer, judge and device only count if both have them.
 */
export function differingOfShards(a: ShardSettings, b: ShardSettings): string | null {
  const [one, other] = [a, b].map(({ settings, isScored }): Partial<RunSettings> => {
    const { judge, device, ...rest } = settings;
    const both = { ...rest, shard: WHOLE, measures: settings.measures.toSorted() };
    return { ...both, ...(judge && { judge }), ...(isScored && { device }) };
  });
  const optional = ['judge', 'claims', 'writer', 'device'] as const;
  const left = optional.filter((name) => !(name in one!) || !(name in other!));
  const compared = (all: Partial<RunSettings>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !left.some((one) => one === name)));
  return differingSetting(compared(one!), compared(other!));
}
