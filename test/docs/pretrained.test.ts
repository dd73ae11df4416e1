import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { answerSetSchema, complete } from '#lab/evidence/answer-set.js';
import { evidenceOf, evidenceTables } from '#lab/evidence/tables.js';
import { withTables } from '#lab/page-tables.js';

const read = (file: string): string => readFileSync(`docs/results/${file}`, 'utf8');
const sets = z
  .array(answerSetSchema)
  .parse(JSON.parse(readFileSync('lab/data/pretrained.json', 'utf8')))
  .map(complete);
/** The choice was made on the others. */
const test = ['math-read', 'olympiadbench-read', 'omnimath-read', 'math-own'].map(
  (set) => `qwen-0.5b-${set}`,
);
const tables = evidenceTables(sets, evidenceOf(sets, test));

it.each(['pretrained.md', 'pretrained-detectors.md'])(
  'docs/results/%s has the tables that follow from pretrained.json',
  (file) => {
    const page = read(file);
    expect(page).toContain('<!-- table: ');
    expect(withTables(page, tables)).toBe(page);
  },
);
