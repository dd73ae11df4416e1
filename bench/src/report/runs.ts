import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { UsageError } from 'flinch/internals';
import { z } from 'zod';
import { type Evaluation, evaluationSchema } from '../records/evaluation.js';
import type { Block } from './document.js';
import { groupBy } from './group-by.js';

/** A run's evaluation, and what it is called where there are several. */
export interface Run {
  readonly label: string;
  readonly folder: string;
  readonly evaluation: Evaluation;
}

const FILE = 'evaluation.json';

/**
 * Reads the evaluations of run folders.
 * @throws UsageError that names the file and what is wrong with it
 */
export function readRuns(folders: readonly string[]): Run[] {
  const runs = folders.map((folder) => ({ folder, evaluation: readEvaluation(folder) }));
  const names = groupBy(runs, ({ evaluation }) => labelKey(evaluation));
  return runs.map(({ folder, evaluation }) => {
    const alike = names.get(labelKey(evaluation)) ?? [];
    const bases = new Set(alike.map((run) => basename(run.folder)));
    const folderName = bases.size === alike.length ? basename(folder) : folder;
    const { name } = evaluation.model;
    return { folder, evaluation, label: alike.length > 1 ? `${name} (${folderName})` : name };
  });
}

/** Runs that are alike in these stand in one table, and need different names. */
const labelKey = ({ suite, temperature, model }: Evaluation): string =>
  JSON.stringify([suite, temperature, model.name]);

function readEvaluation(folder: string): Evaluation {
  const path = join(folder, FILE);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new UsageError(`${path} is missing; \`flinch bench run\` writes it at the end of a run`);
    }
    throw error;
  }
  return parseEvaluation(text, path);
}

function parseEvaluation(text: string, path: string): Evaluation {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path}: is not valid JSON: ${error instanceof Error ? error.message : error}`);
  }
  const result = evaluationSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.length ? `${z.core.toDotPath(issue.path)}: ` : '';
  throw new UsageError(`${path}: ${where}${issue?.message}`);
}

const SUITE_TITLES: ReadonlyMap<string, string> = new Map([
  ['math', 'MATH'],
  ['bbh', 'BIG-Bench Hard'],
  ['gsm8k', 'GSM8K'],
  ['processbench', 'ProcessBench'],
  ['factscore', 'FActScore'],
  ['tasks', 'The reasoner’s tasks'],
  ['questions', 'Factual questions'],
]);
export const suiteTitle = (suite: string): string => SUITE_TITLES.get(suite) ?? suite;

/** A run among several. */
export const runTitle = ({ label, evaluation: { suite, temperature } }: Run): string =>
  `${suiteTitle(suite)}, ${label}, T = ${temperature}`;

/** The blocks of each run, under its title where several runs have some. */
export function perRun(runs: readonly Run[], blocksOf: (run: Run) => readonly Block[]): Block[] {
  const parts = runs.map((run) => ({ run, blocks: blocksOf(run) })).filter(({ blocks }) => blocks.length > 0);
  if (parts.length === 1) return [...parts[0]!.blocks];
  return parts.flatMap(({ run, blocks }) => [{ kind: 'heading', text: runTitle(run) } as const, ...blocks]);
}
