import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CLOSE_CODE_MEANINGS, CLOSE_CODES, isFinal } from '#gateway/websocket/close-codes.js';
import { jsonSchema } from '#tools/api/schema-document.js';
import { referencePages } from '#tools/reference/pages.js';
import { fieldsOf, typeOf } from '#tools/reference/schema-pages.js';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const pages = await referencePages(String(version));

describe('docs/reference', () => {
  it('has the pages that are generated, and no others', () => {
    expect(readdirSync('docs/reference').toSorted()).toEqual(Object.keys(pages).toSorted());
  });

  it.each(Object.entries(pages))('%s is what the code says (npm run reference)', (name, text) => {
    expect(readFileSync(`docs/reference/${name}`, 'utf8')).toBe(text);
  });

  it('does not depend on the machine that it is made on', () => {
    for (const text of Object.values(pages)) expect(text).not.toContain(process.cwd());
  });

  it('says of every field of the configuration what it is', () => {
    const rows = pages['configuration.md']!.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter((row) => row.endsWith('|  |'))).toEqual([]);
  });
});

describe('close codes', () => {
  it('are all told, each with what the client does about it', () => {
    const told = CLOSE_CODE_MEANINGS.flatMap(({ codes }) => codes);
    expect(told).toEqual(expect.arrayContaining(Object.values(CLOSE_CODES)));
    for (const { codes } of CLOSE_CODE_MEANINGS) expect(new Set(codes.map(isFinal)).size).toBe(1);
  });
});

describe('the words for a JSON Schema', () => {
  const words = (schema: object): string => typeOf(jsonSchema.parse(schema));

  it.each([
    [{ type: 'integer', minimum: 1, maximum: 64 }, 'integer from 1 to 64'],
    [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 'number, above 0 and below 1'],
    [{ type: 'integer', maximum: Number.MAX_SAFE_INTEGER }, 'integer'],
    [{ type: ['string', 'null'] }, 'string or null'],
    [{ anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] }, '`"a"` or `"b"` or null'],
    [{ type: 'array', items: { type: 'string' }, maxItems: 4 }, 'list of string (at most 4 items)'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'object of number by name'],
    [{ $ref: '#/components/schemas/Error' }, '[Error](#error)'],
  ])('%j', (schema, expected) => {
    expect(words(schema)).toBe(expected);
  });

  it('has the fields of objects in lists and alternatives by their path', () => {
    const inner = { type: 'object', properties: { c: { type: 'string' } }, required: ['c'] };
    const list = { anyOf: [{ type: 'array', items: inner }, { type: 'null' }] };
    const fields = fieldsOf(jsonSchema.parse({ properties: { a: { properties: { b: list } } } }));
    expect(fields.map(({ path, required }) => [path, required])).toEqual([
      ['a', false],
      ['a.b', false],
      ['a.b[].c', true],
    ]);
  });
});
