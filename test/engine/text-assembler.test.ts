import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { findStop, TextAssembler } from '#src/engine/text-assembler.js';
import { Detokenizer } from '#src/tokenizer/detokenizer.js';
import { checkpointFolder } from '../support/golden.js';

describe('findStop', () => {
  it.each([
    { text: 'abc', stops: [], found: null, safe: 3 },
    { text: 'abc', stops: ['x'], found: null, safe: 3 },
    { text: 'a END b', stops: ['END'], found: 2, safe: 2 },
    { text: 'a EN', stops: ['END'], found: null, safe: 2 },
    { text: 'aab', stops: ['abab'], found: null, safe: 1 },
    { text: 'xyz END', stops: ['END', 'yz'], found: 1, safe: 1 },
  ])('$text with $stops', ({ text, stops, found, safe }) => {
    expect(findStop(text, stops)).toEqual({ found, safe });
  });
});

describe('TextAssembler', () => {
  let encode: (text: string) => number[];
  let assembler: (...stops: string[]) => TextAssembler<{ id: number }>;
  beforeAll(async () => {
    const { tokenizer } = await openCheckpoint(checkpointFolder('tiny-llama'));
    encode = (text) => tokenizer.encode(text);
    assembler = (...stops) => new TextAssembler(new Detokenizer(tokenizer), stops);
  });

  const feed = (target: TextAssembler<{ id: number }>, ids: readonly number[]) => {
    const texts: string[] = [];
    for (const id of ids) {
      const { tokens, stopped } = target.push({ id });
      texts.push(...tokens.map(({ text }) => text));
      if (stopped) return { texts, stopped };
    }
    return { texts: [...texts, ...target.end().map(({ text }) => text)], stopped: false };
  };

  it('gives a character of several tokens to the last of them, all at once', () => {
    const ids = encode('世');
    expect(ids.length).toBeGreaterThan(1);
    const target = assembler();
    for (const id of ids.slice(0, -1)) expect(target.push({ id }).tokens).toEqual([]);
    const { tokens } = target.push({ id: ids.at(-1)! });
    expect(tokens.map(({ text }) => text)).toEqual([...ids.slice(1).map(() => ''), '世']);
  });

  it('ends an unfinished character with a replacement character on its last token', () => {
    const target = assembler();
    target.push({ id: encode('世')[0]! });
    expect(target.end().map(({ text }) => text)).toEqual(['\uFFFD']);
  });

  it('does not hold tokens for ever when no character is ever finished', () => {
    const target = assembler();
    const id = encode('世')[0]!;
    const released = Array.from({ length: 20 }, () => target.push({ id }).tokens.length);
    expect(released.reduce((a, b) => a + b)).toBeGreaterThanOrEqual(17);
  });

  it('drops tokens of the stop string and cuts the one in which it begins', () => {
    const { texts, stopped } = feed(assembler('5. T'), encode('1 + 4 = 5. Then 7.'));
    expect(texts.join('')).toBe('1 + 4 = ');
    expect(stopped).toBe(true);
  });

  it('joins to the text up to the stop string that is complete first, for any text and stops', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '1', 'é', '\n'), maxLength: 40 });
    const stops = fc.array(
      fc.string({ unit: fc.constantFrom('a', 'b', ' ', '1', 'é'), minLength: 1, maxLength: 4 }),
      {
        maxLength: 3,
      },
    );
    fc.assert(
      fc.property(text, stops, (whole, list) => {
        const { texts, stopped } = feed(assembler(...list), encode(whole));
        // Character by character, as no tokens cut it.
        const ends = Array.from(whole, (_, i) => list.filter((stop) => whole.slice(0, i + 1).endsWith(stop)));
        const end = ends.findIndex((found) => found.length > 0);
        const longest = Math.max(0, ...(ends[end] ?? []).map((stop) => stop.length));
        expect(stopped).toBe(end >= 0);
        expect(texts.join('')).toBe(end >= 0 ? whole.slice(0, end + 1 - longest) : whole);
      }),
      { numRuns: 1000, examples: [[' aa', ['a', ' aa']]] },
    );
  });
});
