import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { type Evaluation, evaluationSchema } from '#bench/records/evaluation.js';
import { flinch, useFolder } from './cli.js';

/** Where the fixtures of a suite are. */
export const benchData = (suite: string): string =>
  fileURLToPath(new URL(`../fixtures/bench/${suite}`, import.meta.url));

/** Runs of `flinch bench run` with the same options, each in a folder of its own name. */
export function useBenchRuns(...options: string[]) {
  const folder = useFolder();
  const args = (name: string, ...more: string[]): string[] => [
    ...['bench', 'run', ...options],
    ...['--out', folder.path(name), ...more],
  ];
  /** The whole lines of a file of a run, which may be written at the moment; none where there is no such file. */
  const lines = <T = Record<string, unknown>>(name: string, file: string): T[] => {
    const path = `${name}/${file}.jsonl`;
    if (!existsSync(folder.path(path))) return [];
    const whole = folder.read(path).split('\n').slice(0, -1);
    return whole.map((line): T => JSON.parse(line));
  };
  return {
    folder,
    args,
    lines,
    run: (name: string, ...more: string[]) => flinch(args(name, ...more)),
    records: <T>(name: string, file: string, schema: z.ZodType<T>): T[] =>
      lines(name, file).map((line) => schema.parse(line)),
    evaluation: (name: string): Evaluation =>
      evaluationSchema.parse(JSON.parse(folder.read(`${name}/evaluation.json`))),
  };
}
