import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readJsonFile, reasonOf, UsageError } from 'flinch/internals';
import { z } from 'zod';
import { answerSchema } from '../judge/answer-cache.js';
import {
  checkSchema,
  claimGraphSchema,
  claimsSchema,
  locatedSchema,
  problemSchema,
  responseSchema,
  rolloutSchema,
  type SampleRecord,
  sampleSchema,
  scoreSchema,
  timeSchema,
} from '../records/records.js';
import { type About, aboutSchema, type RunSettings, settingsSchema } from '../records/settings.js';
import {
  claimFolder,
  differingSetting,
  Ledger,
  readResults,
  refuseOther,
  SETTINGS_FILE,
  toLine,
  writeWhole,
} from '../result-log.js';
import { rolloutKey } from '../rollouts/label-by-rollouts.js';
import type { BenchProblem } from '../suites/suite.js';

/** The files with a line for each result. */
export const RESULT_FILES = {
  responses: 'responses.jsonl',
  checks: 'checks.jsonl',
  located: 'spans.jsonl',
  rollouts: 'rollouts.jsonl',
  claims: 'claims.jsonl',
  samples: 'samples.jsonl',
  graphs: 'graphs.jsonl',
  scores: 'scores.jsonl',
  times: 'times.jsonl',
  judge: 'judge.jsonl',
} as const;
const PROBLEMS = 'problems.jsonl';
const ABOUT = 'about.json';
export const EVALUATION = 'evaluation.json';

const byId = ({ id }: { readonly id: string }): string => id;
export const sampleKey = ({ id, sample }: Pick<SampleRecord, 'id' | 'sample'>): string => `${sample} ${id}`;

/** Record of a scored response. Only ids are kept in memory: the scores of all may not fit. */
const scoredSchema = z.object({ id: z.string() });
/** Completions are remembered without their texts. */
export const drawnSchema = rolloutSchema.omit({ text: true });
/** An answer of the judge, and what it answers. */
export const judgedSchema = answerSchema.extend({ key: z.string() });

/** Results of a run so far, each in a file of the folder. */
export type RunRecords = Awaited<ReturnType<typeof records>>;

export const openRecords = (folder: string) => records((...ledger) => Ledger.open(...ledger), folder);

/** The same of a folder that another process may be writing to; of one that is not there it is empty. */
export const peekRecords = (folder: string): Promise<RunRecords> =>
  records((...ledger) => Ledger.peek(...ledger), folder);

type OpenLedger = <T extends object>(
  file: string,
  schema: z.ZodType<T>,
  keyOf: (result: T) => string | number,
) => Promise<Ledger<T>>;

async function records(open: OpenLedger, folder: string) {
  const file = (name: keyof typeof RESULT_FILES): string => join(folder, RESULT_FILES[name]);
  return {
    responses: await open(file('responses'), responseSchema, byId),
    checks: await open(file('checks'), checkSchema, byId),
    located: await open(file('located'), locatedSchema, byId),
    rollouts: await open(file('rollouts'), drawnSchema, rolloutKey),
    claims: await open(file('claims'), claimsSchema, byId),
    samples: await open(file('samples'), sampleSchema, sampleKey),
    graphs: await open(file('graphs'), claimGraphSchema, byId),
    scored: await open(file('scores'), scoredSchema, byId),
    times: await open(file('times'), timeSchema, byId),
    judge: await open(file('judge'), judgedSchema, ({ key }) => key),
  };
}

/** The scores of a folder, from the file. */
export const readScores = (folder: string) => readResults(join(folder, RESULT_FILES.scores), scoreSchema);

/**
 * Makes a folder the place of one run: its settings, and all of its problems, so that nothing else is needed to evaluate
 * it.
 * @returns the settings that the folder has: its measures may have another order
 * @throws UsageError that names the first setting that differs from those of the run that is there
 */
export function claimRun(
  folder: string,
  asked: RunSettings,
  about: About,
  problems: readonly BenchProblem[],
): RunSettings {
  const settings = inTheirOrder(folder, asked);
  const hasNewJudge = joinJudge(folder, settings);
  const grows = isGrown(folder, settings, problems);
  if (grows) {
    writeWhole(join(folder, PROBLEMS), problems.map(toLine).join(''));
    const { limit, problems: digest } = settings;
    writeWhole(join(folder, SETTINGS_FILE), toJson({ ...readSettings(folder), limit, problems: digest }));
  }
  const isNews = claimFolder(folder, settings, ['claims']) || hasNewJudge || grows;
  if (!existsSync(join(folder, PROBLEMS))) writeWhole(join(folder, PROBLEMS), problems.map(toLine).join(''));
  if (isNews || !existsSync(join(folder, ABOUT))) writeWhole(join(folder, ABOUT), toJson(about));
  return settings;
}

const toJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/**
 * Same as {@link claimRun} without writing anything. Judge and claims may be added later, and the writer does
 * not change the work: they are not compared.
 * @throws UsageError as {@link claimRun}
 */
export function settingsIn(
  folder: string,
  asked: RunSettings,
  problems: readonly BenchProblem[],
): RunSettings {
  const settings = inTheirOrder(folder, asked);
  if (!existsSync(join(folder, SETTINGS_FILE)) || isGrown(folder, settings, problems)) return settings;
  const [mine, there] = [settings, readSettings(folder)].map(
    ({ judge: _, claims: __, writer: ___, ...rest }) => rest,
  );
  refuseOther(folder, mine!, there!);
  return settings;
}

function inTheirOrder(folder: string, settings: RunSettings): RunSettings {
  if (!existsSync(join(folder, SETTINGS_FILE))) return settings;
  const { measures } = readSettings(folder);
  const same = isDeepStrictEqual(measures.toSorted(), settings.measures.toSorted());
  return same ? { ...settings, measures } : settings;
}

/** Whether a run goes on with more questions of the same kind: the limit is another, or the file has further rows. */
function isGrown(folder: string, settings: RunSettings, problems: readonly BenchProblem[]): boolean {
  if (!isRun(folder) || !existsSync(join(folder, PROBLEMS))) return false;
  const there = readSettings(folder);
  const { limit, problems: digest } = settings;
  if (there.problems === digest && there.limit === limit) return false;
  const same = (all: RunSettings) => JSON.parse(JSON.stringify({ ...all, limit, problems: digest }));
  if (differingSetting(same(settings), same(there)) !== null) return false;
  const lines = new Set(problems.map(toLine));
  return readFileSync(join(folder, PROBLEMS), 'utf8')
    .split(/(?<=\n)/)
    .every((line) => lines.has(line));
}

/**
 * A run that began without a judge may take one until there is something that it would have been asked.
 * @returns whether it does
 */
function joinJudge(folder: string, { judge, ...settings }: RunSettings): boolean {
  const file = join(folder, SETTINGS_FILE);
  if (judge === null || !existsSync(file)) return false;
  if (hasRecords(folder, 'located') || hasRecords(folder, 'claims')) return false;
  const there = readJsonFile(file, z.record(z.string(), z.unknown()));
  const { claims, ...others } = settings;
  // Claims may come late too.
  const mine = 'claims' in there ? settings : others;
  if (differingSetting({ ...mine, judge: null }, there) !== null) return false;
  writeWhole(file, toJson({ ...there, judge }));
  return true;
}

/** Whether something was found out there. */
export const hasRecords = (folder: string, name: keyof typeof RESULT_FILES): boolean =>
  (statSync(join(folder, RESULT_FILES[name]), { throwIfNoEntry: false })?.size ?? 0) > 0;

export const isRun = (folder: string): boolean => existsSync(join(folder, SETTINGS_FILE));

/** @throws UsageError where there is no run */
export async function readRun(folder: string) {
  if (!existsSync(join(folder, SETTINGS_FILE)) || !existsSync(join(folder, ABOUT)))
    throw new UsageError(`${folder}: is not a run folder of flinch bench`);
  const problems: BenchProblem[] = [];
  for await (const problem of readResults(join(folder, PROBLEMS), problemSchema)) problems.push(problem);
  return {
    settings: readSettings(folder),
    about: readJsonFile(join(folder, ABOUT), aboutSchema),
    problems,
  };
}

/** @throws UsageError for settings of another version */
export const readSettings = (folder: string): RunSettings =>
  readJsonFile(join(folder, SETTINGS_FILE), settingsSchema);

/** @throws UsageError where there is something else */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new UsageError(`--out: ${folder} cannot be created (${reasonOf(cause)})`, { cause });
  }
}
