import { expect, it } from 'vitest';
import { nestsTooDeep } from '#gateway/upstream/wire/json-depth.js';

const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

it.each([lists, objects])('counts what nests, and nothing else', (nested) => {
  expect(nestsTooDeep(nested(1000))).toBe(false);
  expect(nestsTooDeep(nested(1001))).toBe(true);
  expect(nestsTooDeep(`[${'[],{},'.repeat(5000)}1]`)).toBe(false);
  expect(nestsTooDeep(JSON.stringify({ a: '[{"\\'.repeat(5000), b: '\\' }))).toBe(false);
  expect(nestsTooDeep(`["\\\\",${nested(1001)}]`)).toBe(true);
});
