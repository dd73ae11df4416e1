import { readFileSync } from 'node:fs';
import { mersenne } from 'pure-rand/generator/mersenne';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseJsonLines } from '#src/files/json-text.js';
import { otherQuestion } from '../../models/training/other-questions.js';

const read = <T>(name: string, schema: z.ZodType<T>): T[] =>
  parseJsonLines(readFileSync(new URL(`../../models/training/${name}`, import.meta.url), 'utf8'), schema);

describe('ordinary.jsonl', () => {
  it('has 100 different questions, with right answers', () => {
    const lines = read('ordinary.jsonl', z.strictObject({ question: z.string(), answer: z.string() }));
    expect(new Set(lines.map(({ question }) => question)).size).toBe(100);
    for (const { question, answer } of lines) {
      const [, a, sign, b] = /^\D*(\d+) ([-+*/]) (\d+)\D*$/.exec(question) ?? [];
      if (!sign) continue;
      const [x, y] = [Number(a), Number(b)];
      expect({ '+': x + y, '-': x - y, '*': x * y, '/': x / y }[sign], question).toBe(Number(answer));
    }
  });
});

describe('other questions', () => {
  it('are trained on in many forms, none of them in other.jsonl', () => {
    const held = read('other.jsonl', z.strictObject({ question: z.string() })).map(
      ({ question }) => question,
    );
    expect(new Set(held).size).toBe(50);
    const drawn = new Set(Array.from({ length: 5000 }, (_, seed) => otherQuestion(mersenne(seed))));
    expect(drawn.size).toBeGreaterThan(400);
    expect([...drawn].filter((question) => /[{}\d]|undefined/.test(question))).toEqual([]);
    expect(held.filter((question) => drawn.has(question))).toEqual([]);
  });
});
