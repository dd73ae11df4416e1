import { expect, it } from 'vitest';
import { excessOf } from '#gateway/requests/request-bounds.js';

const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const fields = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`${i}`, ':']))); // no field: in a text

const DEEP = 'nests deeper than 1000 levels';

it.each([lists, objects])('counts what nests, and nothing else', (nested) => {
  expect(excessOf(nested(1000))).toBeNull();
  expect(excessOf(nested(1001))).toBe(DEEP);
  expect(excessOf(`[${'[],{},'.repeat(5000)}1]`)).toBeNull();
  expect(excessOf(JSON.stringify({ a: '[{"\\'.repeat(5000), b: '\\' }))).toBeNull();
  expect(excessOf(`["\\\\",${nested(1001)}]`)).toBe(DEEP);
});

it('counts the fields of each object by themselves', () => {
  expect(excessOf(fields(4096))).toBeNull();
  expect(excessOf(`[${fields(4096)},{"a":${fields(4096)}}]`)).toBeNull();
  expect(excessOf(fields(4097))).toBe('has more than 4096 fields in one object');
  expect(excessOf(`{"a":[${fields(4097)}]}`)).not.toBeNull();
});

it('counts lists and objects, but no numbers and texts', () => {
  const list = (count: number, entry: string) => `[${Array(count).fill(entry).join(',')}]`;
  expect(excessOf(list(65_535, '{}'))).toBeNull();
  expect(excessOf(list(65_536, '{}'))).toBe('has more than 65536 lists and objects');
  expect(excessOf(list(200_000, '1'))).toBeNull();
  expect(excessOf(list(200_000, '"{"'))).toBeNull();
});

it('takes what is no JSON, too', () => {
  for (const text of [
    '}'.repeat(5000),
    `${'x'.repeat(3000)}"`,
    `"${'\\'.repeat(3001)}`,
    `"${'\\"'.repeat(3000)}`,
  ])
    expect(excessOf(text)).toBeNull();
});
