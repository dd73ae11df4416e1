import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AgreementReport, agreementTable, timesTable } from '#lab/agreement/agreement-report.js';
import { formatModels, type ModelsReport } from '#lab/models/report.js';
import { resultTables } from '../support/result-tables.js';

const RESULTS = 'docs/results';

describe('docs/results/benchmark.md', () => {
  const page = readFileSync(join(RESULTS, 'benchmark.md'), 'utf8');

  it.each([...resultTables()])('has what the evaluations say of %s', (_, table) => {
    expect(page).toContain(table);
  });
});

describe('docs/results/peers.md', () => {
  const page = readFileSync(join(RESULTS, 'peers.md'), 'utf8');
  const { rows, times }: AgreementReport = JSON.parse(readFileSync(join(RESULTS, 'peers.json'), 'utf8'));

  it.each([
    ['the agreement', agreementTable(rows)],
    ['the times', timesTable(times)],
  ])('has the table of %s', (_, table) => {
    expect(page).toContain(table);
  });
});

describe('docs/results/models.md', () => {
  const page = readFileSync(join(RESULTS, 'models.md'), 'utf8');
  const report: ModelsReport = JSON.parse(readFileSync(join(RESULTS, 'models.json'), 'utf8'));

  it('has the tables of what was measured', () => {
    for (const [part, value] of Object.entries(report))
      expect(page).toContain(formatModels({ [part]: value }));
  });
});
