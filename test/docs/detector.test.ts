import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { answerSetSchema } from '#lab/evidence/answer-set.js';
import { withTables } from '#lab/evidence/page-tables.js';
import { evidenceOf, evidenceTables } from '#lab/evidence/tables.js';

/** The choice was made on the others. */
const TEST = ['math-read', 'olympiadbench-read', 'omnimath-read', 'math-own'];

it('docs/results/detector.md has the tables that follow from pretrained.json', { timeout: 120_000 }, () => {
  const sets = z.array(answerSetSchema).parse(JSON.parse(readFileSync('lab/data/pretrained.json', 'utf8')));
  const tested = TEST.map((set) => `qwen-0.5b-${set}`);
  const page = readFileSync('docs/results/detector.md', 'utf8');
  expect(page.match(/<!-- table: /g)).toHaveLength(3);
  expect(withTables(page, evidenceTables(sets, evidenceOf(sets, tested)))).toBe(page);
});
