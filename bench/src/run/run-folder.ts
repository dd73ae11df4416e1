import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readJsonFile, reasonOf, UsageError } from 'flinch/internals';
import { z } from 'zod';
import { answerSchema } from '../judge/endpoint.js';
import {
  checkSchema,
  claimGraphSchema,
  claimsSchema,
  locatedSchema,
  responseSchema,
  rolloutSchema,
  type SampleRecord,
  sampleSchema,
  scoreSchema,
  timeSchema,
} from '../records/records.js';
import { type About, aboutSchema, type RunSettings, settingsSchema } from '../records/run-settings.js';
import { Ledger, readResults, toLine, writeWhole } from '../result-log.js';
import { rolloutKey } from '../rollouts/label-by-rollouts.js';
import { type BenchProblem, problemSchema } from '../suites/suite.js';

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
const SETTINGS_FILE = 'settings.json';
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
const judgedSchema = answerSchema.extend({ key: z.string() });

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
 * @throws UsageError as {@link checkRun}
 */
export function claimRun(
  folder: string,
  settings: RunSettings,
  about: About,
  problems: readonly BenchProblem[],
): void {
  const there = checkRun(folder, settings, problems);
  if (there && isDeepStrictEqual(there, { ...there, ...settings })) return;
  writeWhole(join(folder, PROBLEMS), problems.map(toLine).join(''));
  writeWhole(join(folder, ABOUT), toJson(about));
  writeWhole(join(folder, SETTINGS_FILE), toJson({ ...there, ...settings }));
}

const toJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/**
 * Whether a run may go on in a folder. Its claims may be said later, and need not be said again; it may have more
 * problems of the same kind: the limit is another, or the file has further rows.
 * @returns the settings of the run that is there; `null` without one
 * @throws UsageError that names the first setting that differs
 */
export function checkRun(
  folder: string,
  settings: RunSettings,
  problems: readonly BenchProblem[],
): RunSettings | null {
  if (!existsSync(join(folder, SETTINGS_FILE))) return null;
  const there = readSettings(folder);
  const open = [
    ...('claims' in settings !== 'claims' in there ? ['claims'] : []),
    ...(hasAllOf(folder, problems) ? ['limit', 'problems'] : []),
  ];
  const [was, is] = [new Map(Object.entries(there)), new Map(Object.entries(settings))];
  const differing = [...is.keys(), ...was.keys()].find(
    (name) => !open.includes(name) && !isDeepStrictEqual(is.get(name), was.get(name)),
  );
  if (differing === undefined) return there;
  const [before, now] = [was, is].map((all) => JSON.stringify(all.get(differing)) ?? 'none');
  throw new UsageError(`--out: ${folder} contains a run with another ${differing}: ${before}, not ${now}`);
}

/** Whether these problems are those of the run, and perhaps more. */
function hasAllOf(folder: string, problems: readonly BenchProblem[]): boolean {
  const lines = new Set(problems.map(toLine));
  return readFileSync(join(folder, PROBLEMS), 'utf8')
    .split(/(?<=\n)/)
    .every((line) => lines.has(line));
}

/** Whether something was found out there. */
export const hasRecords = (folder: string, name: keyof typeof RESULT_FILES): boolean =>
  (statSync(join(folder, RESULT_FILES[name]), { throwIfNoEntry: false })?.size ?? 0) > 0;

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
const readSettings = (folder: string): RunSettings =>
  readJsonFile(join(folder, SETTINGS_FILE), settingsSchema);

/** @throws UsageError where there is something else */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new UsageError(`--out: ${folder} cannot be created (${reasonOf(cause)})`, { cause });
  }
}
