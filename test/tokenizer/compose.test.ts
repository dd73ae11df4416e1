import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compose, composedParts, inCanonicalOrder } from '#src/tokenizer/compose.js';

const marks: string[] = [];
for (let code = 0x300; code <= 0x1ffff; code++) {
  const char = String.fromCodePoint(code);
  if (/\p{M}/u.test(char)) marks.push(char);
}
const mark = fc.oneof(
  fc.constantFrom(...marks),
  fc.constantFrom('\u0301', '\u0323', '\u0344', '\u034f', '\u0f73'),
);
const run = fc.array(mark, { minLength: 30, maxLength: 90 }).map((parts) => parts.join(''));
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      run,
      mark,
      fc.constantFrom(
        'e',
        'ế',
        '\u1100',
        '\u1161',
        '\u11a8',
        '가',
        '\u09c7\u09be',
        '\u{16d63}\u{16d67}',
        '\ud800',
        'か\u3099',
      ),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));

describe('combining marks in a row', () => {
  it.each(['NFC', 'NFD', 'NFKC', 'NFKD'])('are put in order without changing what %s makes', (form) => {
    fc.assert(
      fc.property(text, (written) => {
        expect(inCanonicalOrder(written).normalize(form)).toBe(written.normalize(form));
      }),
      { numRuns: 300 },
    );
  });

  it('are left as they are if they are few', () => {
    const few = `a${'\u0301\u0323'.repeat(16)}`;
    expect(inCanonicalOrder(few)).toBe(few);
  });

  it('take linear time', () => {
    const many = `a${'\u0301\u0323'.repeat(150_000)}`;
    const from = performance.now();
    expect(compose(many)).toHaveLength(300_000);
    // String.prototype.normalize takes half a minute.
    expect(performance.now() - from).toBeLessThan(5000);
  });
});

it('composes a text part by part', () => {
  fc.assert(
    fc.property(text, (written) => {
      const parts = composedParts(written);
      expect(parts.join('')).toBe(written);
      expect(parts.map(compose).join('')).toBe(written.normalize('NFC'));
    }),
    { numRuns: 500 },
  );
});
