import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { guardSchema } from '#gateway/request.js';

/** The rows of the first table after a line, without its head: what Markdown takes for the table ends at a blank line. */
function tableAfter(text: string, line: string): string[][] {
  const lines = text.slice(text.indexOf(line)).split('\n');
  const start = lines.findIndex((row) => row.startsWith('|'));
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((row) => !row.startsWith('|'));
  return rows.slice(0, end).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** `` `0.5` `` or `0.5` in a cell is a value; anything else is said in words. */
function valueIn(cell: string): unknown {
  try {
    return JSON.parse(cell.replace(/^`(.*)`$/, '$1'));
  } catch {
    return undefined;
  }
}

describe('PROTOCOL.md', () => {
  const text = readFileSync('gateway/PROTOCOL.md', 'utf8');

  it('lists in one table the fields of the guard, with their defaults', () => {
    const rows = tableAfter(text, '`guard`, all fields optional:');
    const names = rows.map(([name = '']) => name.replaceAll('`', ''));
    expect(names.toSorted()).toEqual(Object.keys(guardSchema.in.shape).toSorted());
    const defaults = new Map<string, unknown>(Object.entries(guardSchema.parse({})));
    const said = rows.map(([, , value = '']) => valueIn(value));
    expect(said.filter((value) => value !== undefined).length).toBeGreaterThan(15);
    for (const [i, name] of names.entries()) {
      if (said[i] !== undefined) expect({ [name]: said[i] }).toEqual({ [name]: defaults.get(name) });
    }
  });
});
