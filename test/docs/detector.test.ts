import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { EXTENSION, readAnswers } from '#lab/evidence/answer-set.js';
import { withTables } from '#lab/evidence/page-tables.js';
import { evidenceOf } from '#lab/evidence/tables.js';

/** The choice was made on the others. */
const TESTED = new Map([
  ['test', ['qwen-0.5b-math-unread', 'qwen-0.5b-omnimath-unread', 'qwen-0.5b-olympiadbench-unread']],
  ['larger', ['qwen-1.5b-gsm8k']],
  ['own', ['qwen-0.5b-own']],
]);

it('docs/results/detector.md has the tables that follow from lab/data', { timeout: 120_000 }, () => {
  const files = readdirSync('lab/data').filter((name) => name.endsWith(EXTENSION));
  const { tables } = evidenceOf(
    files.map((name) => readAnswers(`lab/data/${name}`)),
    TESTED,
  );
  const page = readFileSync('docs/results/detector.md', 'utf8');
  expect(page.match(/<!-- table: /g)).toHaveLength(tables.size);
  expect(withTables(page, tables)).toBe(page);
});
