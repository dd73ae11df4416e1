import { describe, expect, it } from 'vitest';
import { joinLabels } from '#cli/calibrate-labels.js';
import { readAnswers, readLabels } from '#cli/label-files.js';
import { checkLabels, type LabelledAnswer } from '#src/risk/label-check.js';

/** As Phoenix 20.26.1 answers, without what plays no part. */
const ANNOTATIONS = JSON.stringify({
  data: [
    {
      id: 'U3Bhbg==',
      span_id: '77489a9a90348214',
      name: 'correct',
      result: { label: 'incorrect', score: 0 },
    },
    { id: 'U3Bhbh==', span_id: '7375ce0047689999', name: 'correct', result: { label: null, score: 1 } },
  ],
  next_cursor: null,
});
const spanOf = (span: string, attributes: object) => ({
  context: { trace_id: 't', span_id: span },
  attributes,
});
const SPANS = JSON.stringify({
  data: [
    spanOf('77489a9a90348214', {
      'gen_ai.response.id': 'chatcmpl-1',
      'flinch.verdict': 'flagged',
      'flinch.risk': 0.9,
      'llm.model_name': 'reasoner',
    }),
    spanOf('7375ce0047689999', { 'gen_ai.response.id': 'chatcmpl-2', 'flinch.verdict': 'unscored' }),
    spanOf('aaaaaaaaaaaaaaaa', { 'http.route': '/' }),
  ],
});

describe('labels', () => {
  it('are those of Phoenix, by span', () => {
    expect(readLabels(ANNOTATIONS, 'a.json')).toEqual([
      { id: '77489a9a90348214', name: 'correct', right: false },
      { id: '7375ce0047689999', name: 'correct', right: true },
    ]);
  });

  it.each([
    ['lines', '{"id": "a", "label": "wrong"}\n\n{"id": "b", "label": 1, "name": "x"}\n'],
    ['one line', '{"id": "a", "label": "wrong"}'],
    ['a list', '[{"id": "a", "label": false}, {"id": "b", "label": "Right", "name": "x"}]'],
  ])('may be %s of their own', (_, text) => {
    const labels = readLabels(text, 'labels.json');
    expect(labels[0]).toEqual({ id: 'a', name: null, right: false });
    if (labels[1]) expect(labels[1]).toEqual({ id: 'b', name: 'x', right: true });
  });

  it.each([
    ['{"id": "a"}', 'labels.json: item 1: label: must be a label'],
    ['{"id": "a", "label": "meh"}', 'labels.json: item 1: label: "meh" is none of'],
    ['{"id": "a", "label": 0.5}', 'labels.json: item 1: label: 0.5 is none of'],
    ['{"data": [{"span_id": "a", "name": "n"}]}', 'labels.json: item 1: result: '],
    ['{"data": [{"span_id": "a", "name": "n", "result": {}}]}', 'labels.json: item 1: result: "" is none of'],
    ['nothing', 'labels.json: is not valid JSON'],
  ])('are refused by file and field: %s', (text, problem) => {
    expect(() => readLabels(text, 'labels.json')).toThrow(problem);
  });
});

describe('recorded answers', () => {
  it('are the spans of flinch that Phoenix has', () => {
    expect(readAnswers(SPANS, 's.json')).toEqual([
      { ids: ['77489a9a90348214', 'chatcmpl-1'], flagged: true, risk: 0.9 },
      { ids: ['7375ce0047689999', 'chatcmpl-2'], flagged: null, risk: null },
    ]);
  });

  it('are the verdicts among the messages to a webhook', () => {
    const verdict = (id: string, verdict: object | null) =>
      JSON.stringify({ type: 'verdict', timestamp: 't', data: { response_id: id, verdict } });
    const lines = [
      JSON.stringify({ type: 'flag', timestamp: 't', data: { response_id: 'a' } }),
      verdict('a', { flagged: false, risk: 0.2, rate: 0.05 }),
      verdict('b', null),
    ];
    expect(readAnswers(lines.join('\n'), 'm.jsonl')).toEqual([
      { ids: ['a'], flagged: false, risk: 0.2 },
      { ids: ['b'], flagged: null, risk: null },
    ]);
  });
});

describe('labels that are of no use', () => {
  const recorded = ['a', 'b', 'c'].map((id) => ({ ids: [`span-${id}`, id], flagged: false, risk: 0.1 }));
  const label = (id: string, right: boolean) => ({ id, name: null, right });

  it('are named: unknown answers, contradictions; what is said twice counts once', () => {
    const labels = [
      ...[label('a', true), label('span-a', true)],
      ...[label('b', true), label('b', false), label('b', false)],
      ...[label('x', true), label('x', false)],
      label('c', false),
    ];
    expect(joinLabels(labels, recorded)).toEqual({
      labelled: [
        { right: true, flagged: false, risk: 0.1 },
        { right: false, flagged: false, risk: 0.1 },
      ],
      problems: { unknown: ['x'], contradicting: ['b'], duplicates: 2 },
    });
  });
});

describe('verdicts beside labels', () => {
  const answers = (count: number, answer: LabelledAnswer) => Array.from({ length: count }, () => answer);

  it('have shares as they were, and for other rates; what is unscored is in none', () => {
    const check = checkLabels([
      ...answers(6, { right: false, flagged: true, risk: 0.97 }),
      ...answers(4, { right: false, flagged: false, risk: 0.85 }),
      ...answers(1, { right: true, flagged: true, risk: 0.96 }),
      ...answers(19, { right: true, flagged: false, risk: 0.3 }),
      ...answers(2, { right: false, flagged: null, risk: null }),
      ...answers(3, { right: true, flagged: null, risk: 0.99 }),
    ]);
    expect(check).toMatchObject({ right: 23, wrong: 12, unscored: { right: 3, wrong: 2 } });
    const shares = check.rows.map(({ rate, found, falseAlarms, precision }) => [
      rate,
      ...[found, falseAlarms, precision].map(({ count, of }) => `${count}/${of}`),
    ]);
    expect(shares).toEqual([
      [null, '6/10', '1/20', '6/7'],
      [0.01, '0/10', '0/20', '0/0'],
      [0.02, '0/10', '0/20', '0/0'],
      [0.05, '6/10', '1/20', '6/7'],
      [0.1, '6/10', '1/20', '6/7'],
      [0.2, '10/10', '1/20', '10/11'],
    ]);
    // Wilson's interval of 6 of 10, from tables.
    expect(check.rows[0]?.found.low).toBeCloseTo(0.3127, 4);
    expect(check.rows[0]?.found.high).toBeCloseTo(0.8318, 4);
  });

  it('of an answer that was stopped without a risk count as they were alone', () => {
    const { rows } = checkLabels([{ right: false, flagged: true, risk: null }]);
    expect(rows.map(({ found }) => found.of)).toEqual([1, 0, 0, 0, 0, 0]);
  });
});
