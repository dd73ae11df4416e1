import { describe, expect, it } from 'vitest';
import type { Evaluation } from '#bench/records/evaluation.js';
import { buildReport } from '#bench/report/build.js';
import type { Block, Cell, ReportDocument, TableBlock } from '#bench/report/document.js';
import { renderPage } from '#bench/report/page.js';
import { readPaper } from '#bench/report/paper/paper-tables.js';
import { estimate, madeUpEvaluation } from '../../support/made-up-evaluation.js';
import { misnested, textOf } from '../../support/markup.js';

const paper = readPaper();
const runOf = (evaluation: Evaluation, label = evaluation.model.name) => ({
  label,
  folder: label,
  evaluation,
});
const reportOf = (...evaluations: readonly Evaluation[]): ReportDocument =>
  buildReport(
    evaluations.map((evaluation) => runOf(evaluation)),
    paper,
  );
const blocksOf = (report: ReportDocument, id: string): readonly Block[] =>
  report.sections.find((section) => section.id === id)?.blocks ?? [];
const tables = (blocks: readonly Block[]): TableBlock[] =>
  blocks.flatMap((block) => (block.kind === 'table' ? [block] : []));
const labels = ({ parts }: TableBlock): string[][] => parts.map((part) => part.map(({ label }) => label));
const isBest = (cell: Cell | undefined): boolean =>
  cell != null && typeof cell === 'object' && 'best' in cell && cell.best === true;
const texts = (report: ReportDocument, id: string): string =>
  textOf(renderPage({ ...report, sections: report.sections.filter((section) => section.id === id) }));

const base = madeUpEvaluation();
const llama = { ...base.model, name: 'Llama-3.1-8B-Instruct' };
const none = { value: null, interval: null };

describe('our numbers in the paper’s tables', () => {
  it('have its methods in its order, and under a line what it has not', () => {
    const [whole, bySubset, others] = tables(blocksOf(reportOf(base), 'results-tasks-0-2'));
    const methods = ['NLL', 'Entropy', 'Margin', 'TokUR', 'Rand. Pert.', 'Adv. Pert.'];
    const schedules = [4, 8, 16].map((block) => `Adv. Pert. (block ${block}, window 64)`);
    expect(labels(whole!)).toEqual([methods, [...schedules, 'chance']]);
    expect(whole!.groups.map(({ label, detail }) => [label, detail])).toEqual([
      ['all', 'Acc 0.80, n = 200'],
      ['macro', '2 subsets, n = 200'],
    ]);
    expect(bySubset!.groups.map(({ label }) => label)).toEqual(['arithmetic', 'navigate']);
    expect(labels(others!)[0]).toContain('Rand. Pert. (l=10)');
  });

  it('stand beside the paper’s where model, data and temperature are its own', () => {
    const report = reportOf(madeUpEvaluation({ suite: 'math', model: llama }));
    const [table] = tables(blocksOf(report, 'results-math-0-2'));
    const row = table!.parts[0]!.find(({ label }) => label === 'Adv. Pert.');
    expect(row!.cells[0]).toMatchObject({
      value: 0.45,
      best: true,
      paper: { value: 0.54, digits: 2, best: true },
    });
    expect(texts(report, 'results-math-0-2')).toContain('0.450 [0.381, 0.519] paper 0.54');
    expect(blocksOf(report, 'paper').filter(({ kind }) => kind === 'table')).toHaveLength(7);
  });

  it.each([
    ['another model', { suite: 'math' }],
    ['another temperature', { suite: 'math', model: llama, temperature: 1 }],
    ['other data', { suite: 'tasks', model: llama }],
  ])('stand alone with %s', (_, parts) => {
    const cells = reportOf(madeUpEvaluation(parts))
      .sections.flatMap(({ blocks }) => tables(blocks))
      .flatMap((table) => table.parts.flat().flatMap((row) => row.cells));
    expect(
      cells.some((cell) => cell !== null && typeof cell === 'object' && 'paper' in cell && cell.paper),
    ).toBe(false);
  });

  it('have a column for each run, told apart by its folder', () => {
    const runs = [runOf(base, 'reasoner (a)'), runOf(base, 'reasoner (b)')];
    const [table] = tables(blocksOf(buildReport(runs, paper), 'results-tasks-0-2'));
    expect(table!.groups.map(({ label }) => label)).toEqual(['reasoner (a)', 'reasoner (b)']);
  });

  it('name a light substitute where it stands in', () => {
    const steps = base.steps
      .map((row) => (row.measure === 'ccp' ? { ...row, measure: 'ccp-rules' } : row))
      .filter(({ measure }) => measure !== 'graph');
    const report = reportOf(madeUpEvaluation({ steps, claims: [], responses: [] }));
    const shown = tables(blocksOf(report, 'results-tasks-0-2')).flatMap((table) => labels(table)[0] ?? []);
    expect(shown).toContain('CCP by rules (for CCP)');
    expect(texts(report, 'whose')).toContain('CCP by rules is not the paper’s CCP, but a light substitute');
  });

  it('ask of ProcessBench whether a step is wrong, not whether the final answer is', () => {
    const labelled = textOf(renderPage(reportOf(madeUpEvaluation({ suite: 'processbench' }))));
    expect(labelled).toContain('Whole response: does the score tell those with a wrong step from those');
    expect(labelled).not.toMatch(/Final answer: does|Final answer \(AUROC|Acc 0/);
    expect(labelled).toContain('The final answer of a wrong response may still be right');
    const asked = textOf(renderPage(reportOf(base)));
    expect(asked).toContain('Final answer: does the score tell wrong answers from right ones?');
    expect(asked).not.toContain('its final answer may be right');
  });

  it('take a measure’s own score for its row, and show its sum among the others', () => {
    const own = { ...base.steps[0]!, measure: 'ccp', aggregation: 'own' as const, top1: estimate(0.9) };
    const summed = { ...own, aggregation: 'sum' as const, top1: estimate(0.1) };
    const report = reportOf(
      madeUpEvaluation({ tokens: [], responses: [], claims: [], steps: [summed, own] }),
    );
    const [main, others] = tables(blocksOf(report, 'results-tasks-0-2'));
    expect(main!.parts[0]![0]).toMatchObject({ label: 'CCP', cells: [{ value: 0.9 }, {}, {}] });
    expect(others!.parts[0]![0]).toMatchObject({ label: 'CCP, sum', cells: [{ value: 0.1 }, {}, {}] });
  });

  it('say of how many subsets a mean is where not all have a value', () => {
    const responses = base.responses.map((row) =>
      row.scope === 'navigate' ? { ...row, auroc: none, averagePrecision: none } : row,
    );
    const detail = (parts: Partial<Evaluation>) =>
      texts(reportOf(madeUpEvaluation(parts)), 'results-tasks-0-2');
    expect(detail({ responses })).toContain('macro 1 of 2 subsets, n = ');
    expect(detail({})).not.toContain('of 2 subsets');
  });

  it('mark no best where most share it', () => {
    const marked = (values: readonly number[]): number => {
      const steps = values.map((value, i) => ({
        ...base.steps[0]!,
        measure: ['nll', 'entropy', 'margin', 'random'][i]!,
        aggregation: 'sum' as const,
        top1: estimate(value),
      }));
      const report = reportOf(madeUpEvaluation({ steps, tokens: [], responses: [], claims: [] }));
      const [table] = tables(blocksOf(report, 'results-tasks-0-2'));
      return table!.parts.flat().filter(({ cells }) => isBest(cells[0])).length;
    };
    expect(marked([0.5, 0.4, 0.5, 0.1])).toBe(2);
    expect(marked([1, 1, 1, 0.5])).toBe(0);
  });

  it('have a dash where nobody measured, and n/a where these cases do not define it', () => {
    const tokens = base.tokens.filter(({ scope, measure }) => scope !== 'navigate' || measure !== 'margin');
    const responses = base.responses.map((row) => (row.scope === 'navigate' ? { ...row, auroc: none } : row));
    const report = reportOf(madeUpEvaluation({ tokens, responses, steps: [], claims: [] }));
    const text = texts(report, 'results-tasks-0-2');
    expect(text).toMatch(/by subset.*Margin [^–]*– – –/);
    expect(text).toMatch(/Final answer.*by subset.*NLL, sum .*n\/a/);
    expect(texts(report, 'whose')).toContain('A dash means not measured, n/a measured but not defined');
  });
});

describe('the first section', () => {
  const first = (parts: Partial<Evaluation>): string => texts(reportOf(madeUpEvaluation(parts)), 'answers');
  /** A trial of n answers. */
  const trial = (n: number, wrong: number, settings: Evaluation['settings'] = {}): Partial<Evaluation> => ({
    settings: { score: 'all', limit: n, ...settings },
    counts: [{ ...base.counts[0]!, problems: n, truncated: 0, correct: n - wrong, wrong }],
    answers: {
      ...base.answers!,
      ...{ n, wrong },
      ...(wrong === 0 || wrong === n ? { best: null, reading: null } : {}),
    },
    responses: base.responses.map((row) => ({
      ...row,
      ...{ n, positives: wrong },
      ...(wrong === 0 || wrong === n ? { auroc: none, prr: none } : {}),
    })),
  });

  it('says what the best score is good for, and that choosing it flatters it', () => {
    expect(first({})).toContain(
      'Of 1,000 answers 200 are wrong. Whoever reads the 20 % with the highest score (200 answers, by SC, the best of 4 on these answers) finds 120 [110, 130] of them (chance: 40). Choosing the best score by the same answers flatters it',
    );
    const alone = { ...base.answers!, best: { ...base.answers!.best!, of: 1 } };
    expect(first({ answers: alone })).not.toContain('flatters');
  });

  it('has a line for each measure, the best of its aggregations, controls apart, and all of them folded', () => {
    const ofNll = base.responses.find(({ measure, scope }) => measure === 'nll' && scope === 'all')!;
    const responses = [
      ...base.responses,
      { ...ofNll, aggregation: 'max' as const, auroc: estimate(0.8) },
      { ...ofNll, measure: 'longest' },
    ];
    const [table, every] = tables(blocksOf(reportOf(madeUpEvaluation({ responses })), 'answers'));
    expect(labels(table!)).toEqual([
      ['SC', 'NLL, max over tokens', 'Adv. Pert., sum over tokens', 'TokUR, sum over tokens'],
      ['longest first, sum over tokens'],
    ]);
    expect(table!.groups[0]!.columns).toEqual(['AUROC', 'AP', 'PRR']);
    expect(every).toMatchObject({ folded: true });
    expect(labels(every!)[0]).toContain('NLL, sum over tokens');
  });

  it('says which answers are too few, and what to run', () => {
    expect(first(trial(40, 2))).toContain(
      '2 of 40 answers are wrong; intervals need about 20: repeat with --limit 400 or a higher --temperature.',
    );
    expect(first(trial(150, 140))).toContain(
      '10 of 150 answers are right; intervals need about 20: repeat with --limit 300, a lower --temperature, or another model.',
    );
    expect(first(trial(400, 200))).not.toContain('repeat with');
    expect(first(trial(40, 2, { limit: null }))).toContain('with a higher --temperature or other questions.');
  });

  it.each([0, 40])('says so instead of tables where %d of 40 answers are wrong', (wrong) => {
    const empty = { tokens: [], steps: [], claims: [], pooled: [], paired: [] };
    const report = reportOf(madeUpEvaluation({ ...trial(40, wrong), ...empty }));
    expect(texts(report, 'answers')).toMatch(/0 of 40 answers are \w+; no score can be judged/);
    const shown = report.sections.filter(({ id }) => /^(answers|results|paired)/.test(id));
    expect(shown.flatMap(({ blocks }) => tables(blocks))).toEqual([]);
    expect(shown.map(({ id }) => id)).toEqual(['answers']);
  });

  it('says why answers are not compared, and what to do about those that were cut off', () => {
    const text = first({ answers: null, responses: [], settings: { score: 'wrong' } });
    expect(text).toContain('not all are scored (--score wrong). Run again with --score all');
    expect(text).toContain('3 of 1,000 answers were cut off: a higher --max-tokens lets them end.');
  });

  it('says that there is nothing to tell by step where each answer is one', () => {
    expect(first({ singleStep: true })).toContain('Each answer is a single step');
    expect(first({})).not.toContain('single step');
  });

  it('comes before steps, and both before the paper’s tables', () => {
    const ids = reportOf(base).sections.map(({ id }) => id);
    expect(ids.slice(0, 4)).toEqual(['answers', 'pooled', 'whose', 'results-tasks-0-2']);
  });
});

describe('the settings', () => {
  it('say what is told above once, and all for what is not limited', () => {
    const settings = { suite: 'tasks', temperature: 0.2, model: 'f00d', subsets: null, judge: null };
    const [table] = tables(blocksOf(reportOf(madeUpEvaluation({ settings })), 'settings'));
    const rows = table!.parts.flat().map(({ label, cells: [cell] }) => [label, cell]);
    expect(rows.filter(([label]) => label === 'suite' || label === 'model')).toHaveLength(2);
    expect(rows).toContainEqual(['subsets', 'all']);
    expect(rows).toContainEqual(['judge', 'none']);
  });
});

describe('a report of less', () => {
  const nothing = {
    ...{ answers: null, tokens: [], steps: [], responses: [], claims: [] },
    ...{ pooled: [], paired: [], efficiency: [] },
  };
  const one = <T extends { scope: string }>(rows: readonly T[]): T[] =>
    rows.filter(({ scope }) => scope === 'all');

  it.each<[string, Partial<Evaluation>]>([
    ['nothing but counts', nothing],
    ['not even counts', { ...nothing, counts: [] }],
    ['no statements', { claims: [] }],
    [
      'one subset',
      {
        tokens: one(base.tokens),
        steps: one(base.steps),
        responses: one(base.responses),
        counts: one(base.counts),
      },
    ],
    ['values that are not defined', { responses: base.responses.map((row) => ({ ...row, auroc: none })) }],
  ])('%s is well-formed', (_, parts) => {
    const page = renderPage(reportOf(madeUpEvaluation(parts)));
    expect(misnested(page)).toBeNull();
    expect(page).not.toMatch(/undefined|NaN|Infinity|\[object/);
  });
});
