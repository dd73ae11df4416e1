import { describe, expect, it } from 'vitest';
import { answersNeeded, elected, type Said } from '#src/guard/vote.js';

/** All sequences of so many contents. */
const sequences = (length: number): Said[][] =>
  length === 0
    ? [[]]
    : sequences(length - 1).flatMap((rest) => ['a', 'b', 'c', null].map((said) => [...rest, said]));

/** Draws answers from a sequence as they are needed. */
function drawn(all: readonly Said[]): Said[] {
  let said = all.slice(0, 1);
  for (;;) {
    const needed = answersNeeded(said, all.length);
    if (needed === 0) return said;
    said = all.slice(0, said.length + needed);
  }
}

describe('elected', () => {
  it('is the first answer that says what most say', () => {
    expect(elected(['a', 'b', 'c', 'b'])).toEqual({ index: 1, votes: 2 });
    expect(elected(['a', 'b', 'b', 'a'])).toEqual({ index: 0, votes: 2 });
    expect(elected([null, 'b', null])).toEqual({ index: 1, votes: 1 });
    expect(elected([null, null])).toEqual({ index: 0, votes: 0 });
  });
});

describe('answersNeeded', () => {
  it('stops no vote before it is settled', () => {
    for (const length of [1, 2, 3, 4, 5, 6])
      for (const all of sequences(length)) expect(elected(drawn(all)).index).toBe(elected(all).index);
  });

  it('never draws an answer that no longer matters', () => {
    for (const all of sequences(5)) {
      const said = drawn(all);
      // Whatever comes last: without it, the vote was open.
      const before = said.slice(0, -1);
      const rest = sequences(5 - before.length);
      const winners = new Set(rest.map((more) => [...before, ...more][elected([...before, ...more]).index]));
      if (said.length > 1) expect(winners.size).toBeGreaterThan(1);
    }
  });

  it('ends a vote where at least three answers agree enough', () => {
    expect(answersNeeded(['a', 'a'], 9, 0.5)).toBe(1);
    expect(answersNeeded(['a', 'a', 'b'], 9, 0.5)).toBe(0);
    expect(answersNeeded(['a', 'b', 'c'], 9, 0.5)).toBe(1);
    expect(answersNeeded(['a', 'a', 'b'], 9, 0.75)).toBe(1);
    expect(answersNeeded(['a', 'a', 'a'], 9, 1)).toBe(0);
    expect(answersNeeded(['a', null, null], 9, 0.5)).toBe(1);
    // Never later than without.
    for (const all of sequences(5))
      for (let length = 1; length <= 5; length += 1)
        expect(answersNeeded(all.slice(0, length), 5, 0.6)).toBeLessThanOrEqual(
          answersNeeded(all.slice(0, length), 5),
        );
  });

  it('draws as many at once as may settle it', () => {
    expect(answersNeeded(['a'], 5)).toBe(2);
    expect(answersNeeded(['a', 'a', 'a'], 5)).toBe(0);
    expect(answersNeeded(['a', 'a', 'b'], 5)).toBe(1);
    expect(answersNeeded([null], 5)).toBe(2);
    expect(answersNeeded(['a', 'b', 'b'], 4)).toBe(1);
  });
});
