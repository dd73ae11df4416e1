import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pretrainedTables, withTables } from '#bench/pretrained/tables.js';
import { unitSetSchema } from '#bench/pretrained/units.js';

const read = (file: string): string => readFileSync(`docs/results/${file}`, 'utf8');
const tables = pretrainedTables(z.array(unitSetSchema).parse(JSON.parse(read('pretrained.json'))));

describe.each(['pretrained.md', 'pretrained-tables.md'])('docs/results/%s', (file) => {
  const page = read(file);

  it('has the tables that follow from pretrained.json', () => {
    expect(page.match(/<!-- table: /g)?.length).toBeGreaterThan(3);
    expect(withTables(page, tables)).toBe(page);
  });
});
