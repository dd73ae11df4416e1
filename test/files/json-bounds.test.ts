import { truncateSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { excessOf } from '#src/files/json-bounds.js';
import { parseJsonLines, parseJsonText, readJsonFile } from '#src/files/json-text.js';
import { useFolder } from '../support/cli.js';

const folder = useFolder();

it('counts values and names of fields, those of strings not', () => {
  const count = (json: string): number => {
    let most = 0;
    while (excessOf(json, { values: most }) !== null) most += 1;
    return most;
  };
  expect(
    ['[]', '[1,2]', '{"a":1}', '{"a":[1],"b":{}}', '[{},{}]', '["[,]:","\\\\","\\",,"]'].map(count),
  ).toEqual([...[1, 2, 2, 6, 4, 3]]);
  expect(excessOf('[1,2,3]', { values: 2 })).toBe('has more than 2 names and values');
  // Cut off, or no JSON.
  for (const json of ['"', '"\\', '[[,', '}}}]', `"${'\\"'.repeat(1000)}`])
    expect(count(json)).toBeLessThan(4);
});

it('counts levels', () => {
  const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
  expect(excessOf(nested(1000), {})).toBeNull();
  expect(excessOf(`[${nested(1000)}]`, {})).toBe('nests deeper than 1000 levels');
  expect(excessOf(`[${nested(998)},${nested(998)}]`, {})).toBeNull();
});

it('JSON Lines are read line by line', () => {
  const line = z.object({ a: z.number() });
  expect(parseJsonLines('{"a":1}\r\n\n {"a":2} \n', line)).toEqual([{ a: 1 }, { a: 2 }]);
  expect(parseJsonLines('', line)).toEqual([]);
  const separators = '1\u2028\u2029\u0085';
  const windows = `\ufeff{"b":"${separators}"}\r\n\r\n{"b":"2"}`;
  expect(parseJsonLines(windows, z.object({ b: z.string() }))).toEqual([{ b: separators }, { b: '2' }]);
  expect(() => parseJsonLines('{"a":1}\n\n{"a":"x"}', line)).toThrow(/^line 3: a: /);
});

it("a user's file is not read if it is too large, nor parsed if it holds too much", () => {
  const file = folder.write('large.json', '[]');
  expect(readJsonFile(file, z.unknown())).toEqual([]);
  truncateSync(file, 2 ** 33);
  expect(() => readJsonFile(file, z.unknown())).toThrow(`${file}: has 8589934592 bytes (at most 134217728)`);
  const most = `[${'1,'.repeat(2 ** 22 - 1)}1]`;
  expect(parseJsonText(most, z.unknown(), 'x')).toHaveLength(2 ** 22);
  expect(() => parseJsonText(`[${most}]`, z.unknown(), 'x')).toThrow(
    'x: has more than 4194304 names and values',
  );
});
