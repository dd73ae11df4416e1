import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parseJsonLines, UsageError } from 'flinch/internals';
import { z } from 'zod';
import { needsClaimGraph } from '../measures/measure.js';
import type { RunSettings } from '../records/run-settings.js';
import type { BenchProblem, Suite } from '../suites/suite.js';
import type { RunOptions } from './run-options.js';

/** Source of a response's claims and of their support. */
export type ClaimSource =
  | {
      readonly by: 'file';
      readonly listed: ReadonlyMap<string, ListedClaims>;
    }
  | { readonly by: 'judge'; readonly evidence: ReadonlyMap<string, readonly string[]> | null };

const listedSchema = z.object({
  id: z.string(),
  claims: z.array(
    z.object({
      claim: z.string().min(1),
      /** Words of the response, in their order. */
      words: z.array(z.string()).default([]),
      supported: z.boolean().nullable(),
    }),
  ),
});
type ListedClaims = z.output<typeof listedSchema>['claims'];

const evidenceSchema = z.object({ id: z.string(), passages: z.array(z.string()) });

/**
 * Source of claims according to the options, and its entry for settings.json; `null` for suites without
 * claims, and if the stage is left out.
 * @throws UsageError for options that do not go together, and files that do not fit
 */
export function readClaimSource(
  suite: Pick<Suite, 'name' | 'judged'>,
  options: Pick<RunOptions, 'claims' | 'evidence' | 'judge' | 'measures' | 'stages'>,
  problems: readonly Pick<BenchProblem, 'id'>[],
): { readonly source: ClaimSource; readonly settings: NonNullable<RunSettings['claims']> } | null {
  const { claims, evidence, judge, measures, stages } = options;
  if (suite.judged !== 'claims') {
    const odd = claims !== undefined ? '--claims' : evidence !== undefined ? '--evidence' : null;
    if (odd !== null) throw new UsageError(`${odd}: ${suite.name} is judged by final answers, not by claims`);
    return null;
  }
  // The default measures include it.
  if (claims !== undefined && judge !== undefined && measures && !needsClaimGraph(measures))
    throw new UsageError(
      '--claims: already contains labels and cannot be used with --judge, except for the measure graph-claims',
    );
  if (evidence !== undefined && (judge === undefined || claims !== undefined))
    throw new UsageError('--evidence: requires --judge, and cannot be used with --claims');
  if (claims !== undefined) {
    const { digest, rows } = readRows('--claims', claims, listedSchema);
    const listed = new Map(rows.map((row) => [row.id, row.claims]));
    if (!problems.some(({ id }) => listed.has(id)))
      throw new UsageError(`--claims: ${claims}: contains none of the problems`);
    return { source: { by: 'file', listed }, settings: { by: 'file', file: digest } };
  }
  if (judge === undefined) {
    if (!stages.includes('claims')) return null;
    throw needsJudge(suite.name);
  }
  if (evidence === undefined)
    return { source: { by: 'judge', evidence: null }, settings: { by: 'judge', evidence: null } };
  const { digest, rows } = readRows('--evidence', evidence, evidenceSchema);
  const passages = new Map(rows.map((row) => [row.id, row.passages]));
  const without = problems.find(({ id }) => !passages.has(id));
  if (without)
    throw new UsageError(
      `--evidence: ${evidence}: has no line for ${JSON.stringify(without.id)}; add a line without passages to use the judge's own knowledge`,
    );
  return {
    source: { by: 'judge', evidence: passages },
    settings: { by: 'judge', evidence: digest },
  };
}

export const needsJudge = (suite: string): UsageError =>
  new UsageError(
    `--judge, --claims: a judge or a file must label the claims of responses to ${suite}. To only generate responses: --stages generate`,
  );

/** @throws UsageError that names option, file, line and field */
function readRows<T extends { readonly id: string }>(
  option: string,
  file: string,
  schema: z.ZodType<T>,
): { readonly digest: string; readonly rows: readonly T[] } {
  const fail = (why: string): UsageError => new UsageError(`${option}: ${file}: ${why}`);
  if (!existsSync(file)) throw fail('there is no such file');
  const text = readFileSync(file, 'utf8');
  const rows = parseJsonLines(text, schema, `${option}: ${file}`);
  const ids = new Set<string>();
  for (const { id } of rows) {
    if (ids.has(id)) throw fail(`${JSON.stringify(id)} is given twice`);
    ids.add(id);
  }
  return { digest: createHash('sha256').update(text).digest('hex'), rows };
}
