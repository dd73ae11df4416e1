import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withTables } from '#lab/page-tables.js';
import { rocFigure } from '#lab/pretrained/roc.js';
import { pretrainedTables } from '#lab/pretrained/tables.js';
import { unitSetSchema } from '#lab/pretrained/units.js';

const read = (file: string): string => readFileSync(`docs/results/${file}`, 'utf8');
const sets = z.array(unitSetSchema).parse(JSON.parse(read('pretrained.json')));
const tables = pretrainedTables(sets);

describe.each(['pretrained.md', 'pretrained-tables.md'])('docs/results/%s', (file) => {
  const page = read(file);

  it('has the tables that follow from pretrained.json', () => {
    expect(page.match(/<!-- table: /g)?.length).toBeGreaterThan(3);
    expect(withTables(page, tables)).toBe(page);
  });
});

describe('docs/results/pretrained-roc.svg', () => {
  it('has the curves that follow from pretrained.json', { timeout: 120_000 }, async () => {
    expect(await rocFigure(sets)).toBe(read('pretrained-roc.svg'));
  });
});
