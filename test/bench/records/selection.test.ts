import { describe, expect, it } from 'vitest';
import type { CheckRecord, LocatedRecord, ResponseRecord } from '#bench/records/records.js';
import { asked, select } from '#bench/records/selection.js';
import { problemOf, responseOf } from '../../support/bench-records.js';

/** Right, wrong and not looked at, wrong where one knows, wrong and nobody knows where, empty, cut off, not answered, unsure. */
type State = 'right' | 'wrong' | 'located' | 'rejected' | 'empty' | 'cut' | 'open' | 'unsure';

function known(states: readonly State[]) {
  const problems = states.map((_, i) => problemOf(`p${i}`, { subset: i % 2 === 0 ? 'even' : 'odd' }));
  const responses = new Map<string, ResponseRecord>();
  const checks = new Map<string, CheckRecord>();
  const located = new Map<string, LocatedRecord>();
  for (const [i, state] of states.entries()) {
    const id = `p${i}`;
    if (state === 'open') continue;
    const finish = state === 'cut' ? 'length' : 'stop';
    responses.set(id, responseOf(id, state === 'empty' ? [] : ['x'], { finish }));
    if (state !== 'cut')
      checks.set(id, {
        id,
        extracted: null,
        correct: state === 'unsure' ? null : state === 'right',
        by: 'rules',
      });
    if (state === 'located') located.set(id, { id, span: [0, 1], by: 'judge' });
    if (state === 'rejected') located.set(id, { id, span: null, by: 'judge', rejected: 'no_match' });
  }
  return { problems, records: { responses, checks, located } };
}

const selected = (states: readonly State[], scored: 'wrong' | 'all', perSubset: number | null) => {
  const { problems, records } = known(states);
  const { next, ...sets } = select(problems, records, { scored, perSubset });
  return {
    next: next.map(({ id }) => id),
    wrong: [...sets.wrong],
    examined: [...sets.examined],
    scored: [...sets.scored],
  };
};

describe('select', () => {
  it('looks at all wrong responses where there is no limit', () => {
    expect(selected(['wrong', 'right', 'cut', 'wrong', 'open'], 'wrong', null)).toEqual({
      next: ['p0', 'p3'],
      wrong: [],
      examined: [],
      scored: [],
    });
  });

  it('looks at no more than the subset needs', () => {
    const states: State[] = ['wrong', 'wrong', 'wrong', 'wrong', 'wrong', 'wrong'];
    expect(selected(states, 'wrong', 1).next).toEqual(['p0', 'p1']);
    expect(selected(['rejected', 'located', ...states.slice(2)], 'wrong', 1)).toMatchObject({
      next: ['p2'],
      wrong: ['p1'],
      examined: ['p0', 'p1'],
    });
    // The fourth was looked at before the second by accident: the second is looked at all the same.
    expect(selected(['wrong', 'open', 'wrong', 'open', 'located'], 'wrong', 2).next).toEqual(['p0', 'p2']);
  });

  it('takes an unsure response for no wrong one, and scores it where all are scored', () => {
    expect(selected(['unsure', 'wrong'], 'wrong', 1).next).toEqual(['p1']);
    expect(selected(['unsure', 'wrong'], 'all', null)).toMatchObject({ next: ['p1'], scored: ['p0', 'p1'] });
  });

  it('scores the wrong, or all but empty ones', () => {
    const states: State[] = ['right', 'located', 'right', 'right', 'right', 'rejected', 'empty', 'cut'];
    expect(selected(states, 'wrong', null).scored).toEqual(['p1']);
    expect(selected(states, 'all', null).scored).toEqual(['p0', 'p1', 'p2', 'p3', 'p4', 'p5']);
  });
});

const askedOf = (states: readonly State[], scored: 'wrong' | 'all', perSubset: number | null) => {
  const { problems, records } = known(states);
  return asked(problems, records, { scored, perSubset }).map(({ id }) => id);
};

describe('asked', () => {
  it('asks all without a limit', () => {
    const states: State[] = ['located', 'open', 'open', 'right', 'open'];
    expect(askedOf(states, 'wrong', null)).toHaveLength(5);
  });

  it('asks until there are so many wrong ones where all are scored, whatever is known of their steps', () => {
    expect(askedOf(['right', 'wrong', 'rejected', 'open', 'open', 'open'], 'all', 1)).toEqual([
      'p0',
      'p1',
      'p2',
    ]);
  });

  it('asks no more than each subset needs whatever comes out', () => {
    const open: State[] = Array.from({ length: 10 }, () => 'open');
    expect(askedOf(open, 'wrong', 2)).toEqual(['p0', 'p1', 'p2', 'p3']);
    // One of the even ones is right, one of the odd ones was cut off, one has no first wrong step.
    expect(askedOf(['right', 'cut', 'wrong', 'rejected', ...open.slice(4)], 'wrong', 2)).toEqual([
      'p0',
      'p1',
      'p2',
      'p3',
      'p4',
      'p5',
      'p7',
    ]);
    expect(askedOf(['located', 'located', ...open.slice(2)], 'wrong', 1)).toEqual(['p0', 'p1']);
  });
});
