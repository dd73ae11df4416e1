import { describe, expect, it } from 'vitest';
import {
  answerRows,
  type Exported,
  measureColumns,
  stepRows,
  tokenLines,
} from '#bench/export/export-rows.js';
import type { CheckRecord, LocatedRecord, ScoreRecord } from '#bench/records/records.js';
import { byId, inTurn, problemOf, responseOf } from '../../support/bench-records.js';

const TOKENS = ['One', '.\n', 'Two', '.\n', 'Three', '.'];
/** Of the second step. */
const TWO: [number, number] = [5, 9];

const response = (id: string, finish: 'stop' | 'length' = 'stop') =>
  responseOf(id, TOKENS, { tokenIds: [7, 8, 9, 8, 6, 8], finish });
const check = (id: string, correct: boolean): CheckRecord => ({ id, extracted: '5', correct, by: 'rules' });
const score = (id: string): ScoreRecord => ({
  id,
  steps: [],
  tokens: { nll: [1, null, 2, 0, 5, 0] },
  stepScores: { graph: [3, 4, 5] },
  response: { self_consistency: 0.5 },
});

/** A wrong answer, a right one, one that was cut off, and one that was not written. */
const run: Exported = {
  problems: ['wrong', 'right', 'cut', 'unwritten'].map((id) =>
    problemOf(id, { question: `${id}, "really"?`, reference: id === 'cut' ? null : '4' }),
  ),
  measures: ['nll', 'graph', 'self_consistency', 'chance'],
  records: {
    responses: byId([response('wrong'), response('right'), response('cut', 'length')]),
    checks: byId([check('wrong', false), check('right', true)]),
    located: byId<LocatedRecord>([{ id: 'wrong', span: TWO, by: 'judge' }]),
    claims: new Map(),
  },
  scores: inTurn([score('right'), score('wrong')]),
};

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

describe('what is exported', () => {
  it('is a row for each response, in the order of the problems', async () => {
    const rows = await all(answerRows(run));
    expect(rows.map(({ id }) => id)).toEqual(['wrong', 'right', 'cut']);
    expect(rows[0]).toEqual({
      id: 'wrong',
      group: 's',
      question: 'wrong, "really"?',
      context: null,
      choices: null,
      messages: null,
      answer: '4',
      response: TOKENS.join(''),
      extracted: '5',
      right: false,
      labelled_by: 'rules',
      finish: 'stop',
      token_count: 6,
      step_count: 3,
      first_wrong_step: 1,
      'nll.sum': 8,
      'nll.mean': 8 / 5,
      'nll.max': 5,
      self_consistency: 0.5,
    });
    expect(rows[1]).toMatchObject({ right: true, first_wrong_step: null });
    expect(rows[2]).toEqual({
      id: 'cut',
      group: 's',
      question: 'cut, "really"?',
      context: null,
      choices: null,
      messages: null,
      answer: '',
      response: TOKENS.join(''),
      extracted: null,
      right: null,
      labelled_by: null,
      finish: 'length',
      token_count: 6,
      step_count: 3,
      first_wrong_step: null,
    });
  });

  it('is a row for each step: right, the first wrong one, or neither', async () => {
    const rows = await all(stepRows(run));
    expect(rows.map(({ id, step, wrong }) => [id, step, wrong])).toEqual([
      ...[0, 1, 2].map((step) => ['right', step, false]),
      ...[
        ['wrong', 0, false],
        ['wrong', 1, true],
        ['wrong', 2, null],
      ],
    ]);
    expect(rows[4]).toMatchObject({ from: 2, to: 4, text: 'Two.\n', 'nll.sum': 2, 'nll.max': 2, graph: 4 });
  });

  it('is a line of tokens for each response that is scored', async () => {
    const lines = await all(tokenLines(run));
    expect(lines[1]).toEqual({
      id: 'wrong',
      tokens: [7, 8, 9, 8, 6, 8],
      texts: TOKENS,
      wrong: [[2, 4]],
      steps: [
        [0, 2],
        [2, 4],
        [4, 6],
      ],
      scores: { nll: [1, null, 2, 0, 5, 0] },
    });
    expect(lines[0]).toMatchObject({ id: 'right', wrong: [] });
  });

  it('has a column for each way to put tokens together, and for scores of a measure’s own', async () => {
    expect((await measureColumns(run, 'response')).toSorted()).toEqual(
      ['nll.max', 'nll.mean', 'nll.sum', 'self_consistency'].toSorted(),
    );
    expect((await measureColumns(run, 'steps')).toSorted()).toEqual(
      ['graph', 'nll.max', 'nll.mean', 'nll.sum'].toSorted(),
    );
  });
});
