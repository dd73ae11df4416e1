import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withTables } from '#lab/page-tables.js';
import { rocFigure } from '#lab/small-models/roc.js';
import { smallModelsTables } from '#lab/small-models/tables.js';
import { unitSetSchema } from '#lab/small-models/units.js';

const read = (file: string): string => readFileSync(`docs/results/${file}`, 'utf8');
const sets = z.array(unitSetSchema).parse(JSON.parse(readFileSync('lab/data/small-models.json', 'utf8')));
const tables = smallModelsTables(sets);

describe.each(['small-models.md', 'small-models-tables.md'])('docs/results/%s', (file) => {
  const page = read(file);

  it('has the tables that follow from small-models.json', () => {
    expect(page.match(/<!-- table: /g)?.length).toBeGreaterThan(3);
    expect(withTables(page, tables)).toBe(page);
  });
});

describe('docs/results/small-models-roc.svg', () => {
  it('has the curves that follow from small-models.json', { timeout: 120_000 }, async () => {
    expect(await rocFigure(sets)).toBe(read('small-models-roc.svg'));
  });
});
