import { describe, expect, it } from 'vitest';
import type { Evaluation } from '#bench/records/evaluation.js';
import { buildReport } from '#bench/report/build.js';
import type { Block, ReportDocument, TableBlock } from '#bench/report/document.js';
import { buildAnswers } from '#bench/report/look-at.js';
import { renderMarkdown } from '#bench/report/markdown.js';
import { readPaper } from '#bench/report/paper/paper-tables.js';
import { renderReport } from '#bench/report/report.js';
import { tokenHeats } from '#bench/report/sections/cases.js';
import { estimate, madeUpEvaluation } from '../../support/made-up-evaluation.js';
import { misnested } from '../../support/markup.js';

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
const texts = (report: ReportDocument, id: string): string =>
  renderMarkdown({ ...report, sections: report.sections.filter((section) => section.id === id) });

const base = madeUpEvaluation();
const llama = { ...base.model, name: 'Llama-3.1-8B-Instruct' };

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
    expect(renderMarkdown(report)).toContain('**0.450** [0.381, 0.519] (**paper 0.54**)');
    expect(blocksOf(report, 'paper').filter(({ kind }) => kind === 'table')).toHaveLength(7);
  });

  it.each([
    ['another model', { suite: 'math' }],
    ['another temperature', { suite: 'math', model: llama, temperature: 1 }],
    ['other data', { suite: 'tasks', model: llama }],
  ])('stand alone with %s', (_, parts) => {
    const report = reportOf(madeUpEvaluation(parts));
    const cells = report.sections
      .flatMap(({ blocks }) => tables(blocks))
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
    const rename = <T extends { measure: string }>(rows: readonly T[]): T[] =>
      rows
        .map((row) => (row.measure === 'ccp' ? { ...row, measure: 'ccp-rules' } : row))
        .filter(({ measure }) => measure !== 'graph');
    const report = reportOf(madeUpEvaluation({ steps: rename(base.steps), claims: [], responses: [] }));
    const steps = tables(blocksOf(report, 'results-tasks-0-2')).find(({ parts }) =>
      parts[0]!.some(({ label }) => label.startsWith('CCP')),
    );
    expect(labels(steps!)[0]![0]).toBe('CCP by rules (for CCP)');
    expect(texts(report, 'whose')).toContain('CCP by rules is not the paper’s CCP, but a light substitute');
  });

  it('ask of ProcessBench whether a step is wrong, not whether the final answer is', () => {
    const labelled = renderMarkdown(reportOf(madeUpEvaluation({ suite: 'processbench' })));
    expect(labelled).toContain(
      'Whole response: does the score tell those with a wrong step from those without?',
    );
    expect(labelled).not.toMatch(/Final answer: does|Final answer \(AUROC|Acc 0/);
    expect(labelled).toContain('The final answer of a wrong response may still be right');
    const asked = renderMarkdown(reportOf(base));
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
});

describe('the first section', () => {
  const none = { value: null, interval: null };
  const first = (parts: Partial<Evaluation>): string =>
    renderMarkdown({ ...reportOf(madeUpEvaluation(parts)) }).split('\n## ')[1]!;
  /** A trial of n answers. */
  const trial = (n: number, wrong: number, settings: Evaluation['settings'] = {}): Partial<Evaluation> => ({
    settings: { score: 'all', limit: n, ...settings },
    counts: [{ ...base.counts[0]!, problems: n, truncated: 0, correct: n - wrong, wrong }],
    answers:
      wrong > 0 && wrong < n
        ? { ...base.answers!, n, wrong }
        : { ...base.answers!, n, wrong, best: null, reading: null, thresholds: [], rejection: [] },
    responses: base.responses.map((row) => ({
      ...row,
      n,
      positives: wrong,
      ...(wrong === 0 || wrong === n ? { auroc: none, prr: none, prr50: none } : {}),
    })),
  });

  it('says what the best score is good for, and that choosing it flatters it', () => {
    expect(first({})).toContain(
      'Of 1,000 answers 200 are wrong. Whoever reads the 20 % with the highest score (200 answers, by SC, the best of 4 on these answers) finds 120 [110, 130] of them (chance: 40). Choosing the best score by the same answers flatters it',
    );
    const alone = { ...base.answers!, best: { ...base.answers!.best!, of: 1 } };
    expect(first({ answers: alone })).not.toContain('flatters');
  });

  it('has a line for each measure, the best of its aggregations, and all of them folded', () => {
    const max = base.responses
      .filter(({ measure, scope }) => measure === 'nll' && scope === 'all')
      .map((row) => ({ ...row, aggregation: 'max' as const, auroc: estimate(0.8) }));
    const report = reportOf(madeUpEvaluation({ responses: [...base.responses, ...max] }));
    const [table, rejection, thresholds, every] = tables(blocksOf(report, 'answers'));
    expect(labels(table!)).toEqual([
      ['SC', 'NLL, max over tokens', 'Adv. Pert., sum over tokens', 'TokUR, sum over tokens'],
    ]);
    expect(table!.groups[0]!.columns).toEqual(['AUROC', 'AP', 'PRR', 'PRR, half']);
    const [none] = rejection!.parts[0]!;
    expect([none!.label, none!.cells[0]]).toEqual(['0 %', 1000]);
    expect([none!.cells[1], none!.cells.at(-1)]).toMatchObject([{ value: 0.8 }, { value: 0.8 }]);
    expect(every).toMatchObject({ folded: true });
    expect(labels(every!)[0]).toContain('NLL, sum over tokens');
    expect(thresholds!.parts[0]!.map(({ cells }) => cells[0])).toEqual(['0.7500', 'needs 100 right answers']);
  });

  it('tells controls from measures in Markdown, too', () => {
    const longest = base.responses
      .filter(({ measure, scope }) => measure === 'nll' && scope === 'all')
      .map((row) => ({ ...row, measure: 'longest' }));
    expect(first({ responses: [...base.responses, ...longest] })).toMatch(
      /\| \*controls\* .*\n\| longest first/,
    );
  });

  it('has no columns of what older runs did not measure', () => {
    const responses = base.responses.map(({ prr: _, prr50: __, ...row }) => row);
    const [table] = tables(blocksOf(reportOf(madeUpEvaluation({ responses, answers: null })), 'answers'));
    expect(table!.groups[0]!.columns).toEqual(['AUROC', 'AP']);
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
    expect(first(trial(40, 2, { writer: { by: 'upstream', model: 'x' } }))).toContain('with --limit 400 or');
  });

  it.each([0, 40])('says so instead of tables where %d of 40 answers are wrong', (wrong) => {
    const { tokens, steps, claims, pooled, paired } = {
      tokens: [],
      steps: [],
      claims: [],
      pooled: [],
      paired: [],
    };
    const report = reportOf(
      madeUpEvaluation({ ...trial(40, wrong), tokens, steps, claims, pooled, paired, cases: [] }),
    );
    expect(texts(report, 'answers')).toMatch(/0 of 40 answers are \w+; no score can be judged/);
    const shown = report.sections.filter(({ id }) => /^(answers|summary|results|paired)/.test(id));
    expect(shown.flatMap(({ blocks }) => tables(blocks))).toEqual([]);
    expect(shown.map(({ id }) => id)).toEqual(['answers']);
  });

  it('says why answers are not compared, and what to do about those that were cut off', () => {
    const parts = { answers: null, responses: [], settings: { score: 'wrong' } };
    expect(first(parts)).toContain('not all are scored (--score wrong). Run again with --score all');
    expect(first(parts)).toContain('3 of 1,000 answers were cut off: a higher --max-tokens lets them end.');
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

describe('the answers to look at', () => {
  const page = (evaluation: Evaluation) => buildAnswers([runOf(evaluation)]);

  it('are the worst false alarms and misses, token by token', async () => {
    const document = page(base)!;
    expect(document.sections.map(({ id, blocks }) => [id, blocks.length])).toEqual([
      ['false-alarms', 2],
      ['misses', 2],
    ]);
    expect(document.sections[1]!.blocks[1]).toMatchObject({
      kind: 'case',
      title: '1. arithmetic-17, arithmetic: score 0.100',
      folded: false,
      verdict: { reference: '37', extracted: '38', correct: false },
    });
    const html = renderReport(reportOf(base), document).get('answers.html')!;
    expect(misnested(html)).toBeNull();
    expect(html).toContain('What is 12 + 30 - 5?');
    expect(renderMarkdown(reportOf(base))).toContain('[answers to look at](<answers.html>)');
  });

  it('enclose no wrong step where the answer is all of it', async () => {
    const marked = (singleStep: boolean): boolean =>
      JSON.stringify(page(madeUpEvaluation({ singleStep }))).includes('"wrong":true');
    expect([marked(false), marked(true)]).toEqual([true, false]);
    const legends = async (singleStep: boolean): Promise<boolean> => {
      const evaluation = madeUpEvaluation({ singleStep });
      const files = renderReport(reportOf(evaluation), page(evaluation));
      return [files.get('report.html')!, files.get('answers.html')!].join('').includes('⟦first wrong step⟧');
    };
    expect([await legends(false), await legends(true)]).toEqual([true, false]);
  });

  it('are none without a best score', () => {
    expect(page(madeUpEvaluation({ answers: null }))).toBeNull();
  });
});

describe('a table of results', () => {
  it('says of how many subsets a mean is where not all have a value', () => {
    const responses = base.responses.map((row) =>
      row.scope === 'navigate'
        ? {
            ...row,
            auroc: { value: null, interval: null },
            averagePrecision: { value: null, interval: null },
          }
        : row,
    );
    const text = renderMarkdown(reportOf(madeUpEvaluation({ responses })));
    expect(text).toContain('macro: 1 of 2 subsets, n = ');
    expect(renderMarkdown(reportOf(base))).not.toContain('of 2 subsets');
  });

  it('marks no best where most share it', () => {
    const cellsOf = (values: readonly number[]) => {
      const measures = ['nll', 'entropy', 'margin', 'random'];
      const steps = values.map((value, i) => ({
        ...base.steps[0]!,
        measure: measures[i]!,
        aggregation: 'sum' as const,
        top1: estimate(value),
      }));
      const report = reportOf(madeUpEvaluation({ steps, tokens: [], responses: [], claims: [] }));
      const [table] = tables(blocksOf(report, 'results-tasks-0-2'));
      return table!.parts.flat().map(({ cells: [cell] }) => cell);
    };
    const marked = (values: readonly number[]) =>
      cellsOf(values).filter(
        (cell) => cell !== null && typeof cell === 'object' && 'best' in cell && cell.best,
      ).length;
    expect(marked([0.5, 0.4, 0.5, 0.1])).toBe(2);
    expect(marked([1, 1, 1, 0.5])).toBe(0);
  });
});

describe('what is missing', () => {
  it('is a dash where nobody measured it, and n/a where these cases do not define it', () => {
    const none = { value: null, interval: null };
    const tokens = base.tokens.filter(({ scope, measure }) => scope !== 'navigate' || measure !== 'margin');
    const responses = base.responses.map((row) => (row.scope === 'navigate' ? { ...row, auroc: none } : row));
    const report = reportOf(madeUpEvaluation({ tokens, responses, steps: [], claims: [] }));
    const row = (caption: RegExp, label: string): string =>
      texts(report, 'results-tasks-0-2')
        .split('\n\n')
        .find((block, i, all) => block.includes(`| ${label}`) && caption.test(all.slice(0, i).join('\n')))!
        .split('\n')
        .find((line) => line.startsWith(`| ${label}`))!;
    expect(row(/by subset/, 'Margin')).toContain('–');
    expect(row(/by subset/, 'Margin')).not.toContain('n/a');
    expect(row(/Final answer.*by subset/s, 'NLL')).toContain('n/a');
    expect(texts(report, 'whose')).toContain('A dash means not measured, n/a measured but not defined');
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

describe('the heat of tokens', () => {
  it('is their rank in the response; ties share it, and the lowest has none', () => {
    const heats = tokenHeats([0, 3, 0, 5, null, 3]);
    expect(heats.map(({ rank }) => rank)).toEqual([null, 2, null, 1, null, 2]);
    expect(heats.map(({ quantile }) => quantile)).toEqual([0, 0.4, 0, 0.8, 0, 0.4]);
    expect(tokenHeats([1, 1, 1]).every(({ rank, quantile }) => rank === null && quantile === 0)).toBe(true);
  });

  it('says whether the first wrong step has one of the highest', () => {
    const [, study] = blocksOf(reportOf(base), 'cases');
    expect(study).toMatchObject({
      kind: 'case',
      measures: [{ label: 'Adv. Pert.', hit: true }, { hit: true }],
    });
    const tokens = study?.kind === 'case' ? study.tokens : [];
    expect(tokens.flatMap(({ text, wrong }) => (wrong ? [text] : [])).join('')).toBe('Then 42 - 5 = 38.');
  });
});

describe('a report of less', () => {
  const none = {
    answers: null,
    tokens: [],
    steps: [],
    responses: [],
    claims: [],
    pooled: [],
    paired: [],
    efficiency: [],
    cases: [],
  };
  const one = <T extends { scope: string }>(rows: readonly T[]): T[] =>
    rows.filter(({ scope }) => scope === 'all');

  it.each<[string, Partial<Evaluation>]>([
    ['nothing but counts', none],
    ['not even counts', { ...none, counts: [] }],
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
    [
      'no spans',
      { tokens: [], steps: [], pooled: [], cases: base.cases.map((study) => ({ ...study, wrong: [] })) },
    ],
    [
      'values that are not defined',
      { responses: base.responses.map((row) => ({ ...row, auroc: { value: null, interval: null } })) },
    ],
  ])('%s is well-formed', async (_, parts) => {
    const files = renderReport(reportOf(madeUpEvaluation(parts)));
    expect([...files.keys()].slice(0, 2)).toEqual(['report.md', 'report.html']);
    expect(misnested(files.get('report.html')!)).toBeNull();
    expect([...files.values()].join('')).not.toMatch(/undefined|NaN|Infinity|\[object/);
  });
});
