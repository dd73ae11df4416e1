import type { Evaluation } from '../../records/evaluation.js';
import {
  type AnswerRow,
  choiceSentence,
  labelSentence,
  readingSentence,
  rowsByRank,
  shortages,
} from '../answer-words.js';
import { best } from '../best.js';
import type { Block, Row, Section, TableBlock } from '../document.js';
import { ALL } from '../levels.js';
import { isControl, measureLabel } from '../measure-label.js';
import { perRun, type Run } from '../runs.js';

type Score = Pick<AnswerRow, 'measure' | 'aggregation'>;

/** Page of all answers, beside the report. */
export const ANSWERS_PAGE = 'answers.html';

/**
 * What a reader asks first: does a high score mean a wrong answer, and what is that good for?
 * @param isListed whether {@link ANSWERS_PAGE} is there
 */
export function answersSection(runs: readonly Run[], isListed: boolean): Section | null {
  const blocks = perRun(runs, ({ evaluation }) => answerBlocks(evaluation, isListed));
  if (blocks.length === 0) return null;
  return { id: 'answers', title: 'Does a high score mean a wrong answer?', blocks };
}

function answerBlocks(evaluation: Evaluation, isListed: boolean): Block[] {
  const { answers, responses, singleStep } = evaluation;
  const missing = shortages(evaluation);
  const rows = rowsByRank(evaluation);
  const sentences = answers && [
    answers.best && readingSentence(answers, scoreLabel(answers.best)),
    choiceSentence(answers),
  ];
  const sentencesGiven = (sentences ?? []).filter((one) => one !== null);
  const text = (words: string): Block => ({ kind: 'text', text: words });
  const all = responses.filter(({ scope, auroc }) => scope === ALL && auroc.value !== null);
  return [
    ...(sentencesGiven.length > 0 ? [text(sentencesGiven.join(' '))] : []),
    ...labelSentence(evaluation).map(text),
    ...(missing.length > 0 ? [{ kind: 'list', items: missing } as const] : []),
    ...(rows.length > 0 ? [answersTable('By answer', rows, false)] : []),
    ...(isListed ? [lookAt] : []),
    ...(all.length > rows.length
      ? [answersTable('By answer, every way to put tokens together', all, true)]
      : []),
    ...(singleStep && rows.length > 0
      ? [text('Each answer is a single step, so that there is nothing to tell by step.')]
      : []),
  ];
}

export const scoreLabel = ({ measure, aggregation }: Score): string =>
  `${measureLabel(measure)}${aggregation === 'own' ? '' : `, ${aggregation} over tokens`}`;

const METRICS = ['auroc', 'averagePrecision', 'prr'] as const;

function answersTable(caption: string, rows: readonly AnswerRow[], folded: boolean): TableBlock {
  const scores = rows.filter(({ measure }) => !isControl(measure));
  const highest = METRICS.map((metric) => best(scores.map((row) => row[metric].value)));
  const line = (row: AnswerRow): Row => ({
    label: scoreLabel(row),
    cells: METRICS.map((metric, i) => {
      const { value } = row[metric];
      return { ...row[metric], digits: 3, best: value !== null && value === highest[i] };
    }),
  });
  const { n, positives } = rows[0]!;
  return {
    kind: 'table',
    caption: `${caption}: ${n} answers, ${positives} wrong`,
    stub: 'Score',
    groups: [{ label: null, detail: null, columns: ['AUROC', 'AP', 'PRR'] }],
    parts: [false, true]
      .map((control) => rows.filter(({ measure }) => isControl(measure) === control).map(line))
      .filter((part) => part.length > 0),
    notes: folded
      ? []
      : [
          'AUROC: how likely a wrong answer scores higher than a right one; chance is 0.5. AP: average precision; chance is the share of wrong answers. PRR: prediction–rejection ratio, how much of what an oracle gains by rejecting answers the score gains, 0 by chance. Of each measure the way to put tokens together with the highest AUROC.',
        ],
    folded,
  };
}

const lookAt: Block = {
  kind: 'text',
  text: [
    'Every answer, token by token, and a click where a label is wrong: ',
    { text: 'the answers', href: ANSWERS_PAGE },
    '.',
  ],
};
