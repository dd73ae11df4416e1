import { describe, expect, it } from 'vitest';
import { asked } from '#bench/records/selection.js';
import { byGenerators, repeated } from '#bench/run/problems.js';

const question = (id: string, generator?: string) => ({
  id,
  subset: 'navigate',
  question: '',
  reference: null,
  given: generator ? { generator, steps: [], firstWrong: null, finalAnswerCorrect: true } : null,
});

describe('questions that are asked several times', () => {
  const problems = repeated([question('a'), question('b')], 3);

  it('are problems of their own, the second round after the first', () => {
    expect(problems.map(({ id }) => id)).toEqual(['a', 'b', 'a#2', 'b#2', 'a#3', 'b#3']);
    expect(repeated([question('a')], 1)).toEqual([question('a')]);
  });

  it('are asked until their subset has its wrong responses', () => {
    const wrong = ['b', 'a#2', 'b#2'];
    const known = {
      responses: new Map(),
      checks: new Map(
        problems.map(({ id }) => [
          id,
          { id, extracted: null, correct: !wrong.includes(id), by: 'rules' as const },
        ]),
      ),
      located: new Map(
        wrong.map((id) => [id, { id, span: [0, 1] as [number, number], by: 'judge' as const }]),
      ),
    };
    const askedFor = (perSubset: number): string[] =>
      asked(problems, known, { scored: 'wrong', perSubset }).map(({ id }) => id);
    expect(askedFor(1)).toEqual(['a', 'b']);
    expect(askedFor(2)).toEqual(['a', 'b', 'a#2']);
    expect(askedFor(4)).toEqual(problems.map(({ id }) => id));
  });
});

describe('the responses of some models', () => {
  const given = [question('a', 'one'), question('b', 'other')];

  it('are those that they wrote', () => {
    expect(byGenerators(given, ['other']).map(({ id }) => id)).toEqual(['b']);
    expect(byGenerators(given, undefined)).toHaveLength(2);
  });

  it('are refused where nobody is known to have written them', () => {
    expect(() => byGenerators(given, ['none'])).toThrow(
      '--generators: no response was written by "none"; known: one, other',
    );
    expect(() => byGenerators([question('a')], ['one'])).toThrow('--generators: is only for processbench');
  });
});
