import fc from 'fast-check';
import { expect } from 'vitest';
import { ModelError } from '#src/files/file-errors.js';
import { visibleLine } from '#src/files/visible.js';

/** Share of the fastest properties; slow ones are tried less often in proportion. */
const MOST = 2000;
const { FUZZ_RUNS = '200' } = process.env;

/**
 * How often a property is tried: seconds for all in a test run. Offline, 10^5 times for most, in some 12 minutes:
 * `FUZZ_RUNS=100000 npx vitest run --project unit test/checkpoint/fuzz.test.ts --testTimeout 0`
 * @param share of {@link MOST}
 */
export const runs = (share: number): number => Math.ceil((share / MOST) * Number(FUZZ_RUNS));

/** Values that files have held by mistake or by malice; `undefined` removes the field. */
const HOSTILE = [
  ...[undefined, null, true, false],
  ...[0, -0, -1, 0.5, 3, 256, 2 ** 24 - 1, 2 ** 24, 2 ** 31, 2 ** 53, 1e20, 1e308, 5e-324],
  ...[Number.POSITIVE_INFINITY, Number.NaN],
  ...['', 'x', '(', '(a', '[', '\\p{Nothing}', '__proto__', 'constructor', 'NaN', '-1', '../x'],
  ...['\ud800', '\0', 'x'.repeat(300)],
  ...[[], [0], [-1], [[]], [null], {}, { type: 'Sequence' }, { content: 'x' }],
  JSON.parse('{"__proto__": 1, "constructor": {"prototype": 2}}'),
];

const KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'length', 'type', '0', '-1', '', '\ud800'];

/** A change of one value; what cannot be applied to it leaves it as it is. */
type Edit =
  | { readonly edit: 'put'; readonly value: unknown }
  | { readonly edit: 'add' | 'rename'; readonly key: string; readonly value: unknown }
  | { readonly edit: 'repeat'; readonly times: number }
  | { readonly edit: 'nest'; readonly depth: number }
  | { readonly edit: 'number'; readonly factor: number; readonly summand: number }
  | { readonly edit: 'text'; readonly at: number; readonly text: string }
  | { readonly edit: 'graft'; readonly from: readonly number[] };

const hostile = fc.constantFrom(...HOSTILE);
/** Path in a JSON value: one number per level, modulo the number of entries. */
const path = fc.array(fc.nat(), { maxLength: 6 });

const edit = (others: readonly unknown[]): fc.Arbitrary<Edit> =>
  fc.oneof(
    {
      weight: others.length > 0 ? 4 : 0,
      arbitrary: fc.record({
        edit: fc.constant('put' as const),
        value: fc.constantFrom(undefined, ...others),
      }),
    },
    { weight: 5, arbitrary: fc.record({ edit: fc.constant('put' as const), value: hostile }) },
    { weight: 2, arbitrary: fc.record({ edit: fc.constant('put' as const), value: fc.jsonValue() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        edit: fc.constantFrom('add' as const, 'rename' as const),
        key: fc.oneof(fc.constantFrom(...KEYS), fc.string({ unit: 'binary' })),
        value: hostile,
      }),
    },
    { weight: 1, arbitrary: fc.record({ edit: fc.constant('repeat' as const), times: fc.nat(40) }) },
    {
      weight: 1,
      arbitrary: fc.record({ edit: fc.constant('nest' as const), depth: fc.constantFrom(1, 2, 20_000) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        edit: fc.constant('number' as const),
        factor: fc.constantFrom(1, 1, -1, 2, 0.5, 2 ** 32),
        summand: fc.constantFrom(0, 1, -1, 4, -8, 0.5),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        edit: fc.constant('text' as const),
        at: fc.nat(20),
        text: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\ud800', ' ', '▁', '\0', '(')),
      }),
    },
    { weight: 2, arbitrary: fc.record({ edit: fc.constant('graft' as const), from: path }) },
  );

const changes = (others: readonly unknown[]) =>
  fc.array(fc.tuple(path, edit(others)), { minLength: 1, maxLength: 4 });

/**
 * A valid JSON value with one to four changes somewhere.
 * @param others further values to put into it, likely where such a file is read
 */
export const mutated = (
  original: unknown,
  others: readonly unknown[] = [],
): fc.Arbitrary<{ value: unknown; toString(): string }> =>
  changes(others).map((list) => ({
    value: list.reduce(
      (value, [at, change]) => mutate(value, at, (old) => apply(change, old, original)),
      original,
    ),
    toString: () => fc.stringify(list), // the value itself may nest too deep to print
  }));

function mutate(value: unknown, path: readonly number[], change: (old: unknown) => unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined || !isObject(value)) return change(value);
  const entries = Object.entries(value);
  const chosen = step % Math.max(1, entries.length);
  const changed = entries.map(
    ([key, child], i) => [key, i === chosen ? mutate(child, rest, change) : child] as const,
  );
  if (Array.isArray(value)) return changed.map(([, child]) => child);
  return Object.fromEntries(changed.filter(([, child]) => child !== undefined));
}

function apply(change: Edit, old: unknown, original: unknown): unknown {
  switch (change.edit) {
    case 'put':
      return change.value;
    case 'add':
      if (Array.isArray(old)) return [...old, change.value];
      return isObject(old) ? Object.fromEntries([...Object.entries(old), [change.key, change.value]]) : old;
    case 'rename': {
      if (!isObject(old) || Array.isArray(old)) return old;
      const [first, ...others] = Object.entries(old);
      return Object.fromEntries([...others, ...(first ? [[change.key, first[1]]] : [])]);
    }
    case 'repeat':
      if (!Array.isArray(old) || old.length * change.times > 20_000) return old;
      return old.flatMap((child) => Array(change.times).fill(child));
    case 'nest': {
      let nested = old;
      for (let i = 0; i < change.depth; i++) nested = [nested];
      return nested;
    }
    case 'number':
      return typeof old === 'number' ? old * change.factor + change.summand : old;
    case 'text':
      return typeof old === 'string' ? old.slice(0, change.at) + change.text + old.slice(change.at + 1) : old;
    case 'graft': {
      let part = original;
      for (const step of change.from) {
        if (!isObject(part)) break;
        const children = Object.values(part);
        part = children[step % Math.max(1, children.length)];
      }
      return part;
    }
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const utf8 = new TextEncoder();

/** Pieces of JSON, well-formed or not, and bytes that are no UTF-8. */
const PIECES = [
  ...['{', '}', '[', ']', '"', ',', ':', '\\', '-', '0', '1e999', '-0', '9007199254740993'],
  ...['NaN', 'null', ' '],
  ...['"__proto__":{},', '"constructor":1,', '"model_type":"llama",', '"vocab":{},', '\\ud800', '\\u0000'],
  ...['['.repeat(20_000) + ']'.repeat(20_000), '{"a":'.repeat(20_000), '\ufeff', '0'.repeat(400)],
].map((text) => utf8.encode(text));
const BROKEN = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0]].map(
  (bytes) => Uint8Array.from(bytes),
);

/** A copy of a part of the file, which gives keys that occur twice. */
interface Copy {
  readonly from: number;
  readonly length: number;
}

const splice = fc.record({
  at: fc.nat(),
  removed: fc.oneof(fc.nat(4), fc.nat(200)),
  inserted: fc.oneof(
    fc.record<Copy>({ from: fc.nat(), length: fc.nat(200) }),
    fc.constantFrom(...PIECES, ...BROKEN, new Uint8Array(0)).map((bytes) => Buffer.from(bytes)),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
  ),
});

/** The bytes of a valid file with one to five of its parts cut out, repeated by chance, or replaced. */
export const spliced = (original: Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc.array(splice, { minLength: 1, maxLength: 5 }).map((list) => {
    let bytes = Buffer.from(original);
    for (const { at, removed, inserted } of list) {
      const start = at % (bytes.length + 1);
      const part = inserted instanceof Uint8Array ? inserted : copied(bytes, inserted);
      bytes = Buffer.concat([bytes.subarray(0, start), part, bytes.subarray(start + removed)]);
    }
    return bytes;
  });

function copied(bytes: Uint8Array, { from, length }: Copy): Uint8Array {
  const start = from % (bytes.length + 1);
  return bytes.subarray(start, start + length);
}

/**
 * Result of `work`, or `undefined` if it refuses the file by a ModelError that names it; any other error fails.
 * @param file the one at fault, or the folder that it must be in
 * @param whole whether the file as a whole may be at fault, without a field
 */
export function orRefuse<T>(file: string, work: () => T, whole = false): T | undefined {
  try {
    return work();
  } catch (error) {
    refused(error, file, whole);
    return undefined;
  }
}

export function refused(error: unknown, file: string, whole = false): void {
  if (!(error instanceof ModelError)) throw error;
  expect(error.file.startsWith(file)).toBe(true);
  expect(error.message.startsWith(visibleLine(`${error.file}: ${error.field.slice(0, 100)}`))).toBe(true);
  if (!whole) expect(error.field).not.toBe('');
  expect(error.message.length).toBeLessThan(5000); // a control takes six characters
}
