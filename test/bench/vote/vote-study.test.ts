import { describe, expect, it } from 'vitest';
import { type VoteCase, type VotingAnswer, votes } from '../../../bench/src/vote/vote-study.js';

const OPTIONS = { shares: [0.5], resamples: 200, seed: 1 };

/** Answers of 10 tokens; what says "a" is right. */
const answers = (said: string): VotingAnswer[] =>
  [...said].map((each) => ({ said: each === '-' ? null : each, right: each === 'a', tokens: 10 }));

const aCase = (id: string, said: string, nll: number): VoteCase => {
  const [first, ...further] = answers(said);
  return { id, length: 5, scores: new Map([['nll, sum', nll]]), answers: [first!, ...further] };
};

describe('votes', () => {
  // Doubtful ones that a vote mends, sure ones that it does not change.
  const cases = [
    ...Array.from({ length: 10 }, (_, i) => aCase(`doubtful-${i}`, 'baaab', 10 + i)),
    ...Array.from({ length: 10 }, (_, i) => aCase(`sure-${i}`, 'aaabb', i)),
  ];
  const table = votes(cases, OPTIONS);

  it('count right answers and tokens, all and as many as are drawn', () => {
    expect(table).toMatchObject({ questions: 20, accuracy: { value: 0.5 }, tokens: 10 });
    const [two, four] = table.all;
    expect(two).toMatchObject({ candidates: 2, accuracy: { value: 1 }, tokens: { all: 30 } });
    // Sure ones end after three of five, doubtful ones after four.
    expect(four).toMatchObject({ candidates: 4, gain: { value: 0.5 }, tokens: { all: 50, drawn: 35 } });
    expect(two?.tokens.drawn).toBe(25);
  });

  it('on half of the questions mend those that the score knows', () => {
    const [way] = table.some.ways;
    expect(way).toMatchObject({ by: 'nll, sum', auroc: { value: 1 } });
    expect(way?.points[0]).toMatchObject({ accuracy: { value: 1 }, gain: { value: 0.25 }, closed: 1 });
  });

  it('have no vote of an answer that says nothing', () => {
    const { all } = votes([aCase('cut', '-ab', 1)], OPTIONS);
    expect(all[0]).toMatchObject({ candidates: 2, accuracy: { value: 1 } });
  });

  it('need a case', () => {
    expect(() => votes([], OPTIONS)).toThrow(RangeError);
  });
});
