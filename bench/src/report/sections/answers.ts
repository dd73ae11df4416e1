import type { Evaluation } from '../../records/evaluation.js';
import { type AnswerRow, choiceSentence, readingSentence, rowsByRank, shortages } from '../answer-words.js';
import { best } from '../best.js';
import { type Block, plainTable, type Row, type Section, type TableBlock, UNMEASURED } from '../document.js';
import { ALL } from '../levels.js';
import { isControl, measureLabel } from '../measure-label.js';
import { perRun } from '../per-run.js';
import type { Run } from '../runs.js';

type Answers = NonNullable<Evaluation['answers']>;
type Score = Pick<AnswerRow, 'measure' | 'aggregation'>;

/** Page of the answers to look at, beside the report. */
export const ANSWERS_PAGE = 'answers.html';

/** What a reader asks first: does a high score mean a wrong answer, and what is that good for? */
export function answersSection(runs: readonly Run[]): Section | null {
  const blocks = perRun(runs, ({ evaluation }) => answerBlocks(evaluation));
  if (blocks.length === 0) return null;
  return { id: 'answers', title: 'Does a high score mean a wrong answer?', blocks };
}

function answerBlocks(evaluation: Evaluation): Block[] {
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
    ...(missing.length > 0 ? [{ kind: 'list', items: missing } as const] : []),
    ...(rows.length > 0 ? [answersTable('By answer', rows, false)] : []),
    ...(answers?.best ? [rejectionTable(answers, rows)] : []),
    ...(answers?.best ? thresholdBlocks(answers, answers.best) : []),
    ...(answers?.best ? [lookAt] : []),
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

const METRICS = ['auroc', 'averagePrecision', 'prr', 'prr50'] as const;
const LABELS = ['AUROC', 'AP', 'PRR', 'PRR, half'];

function answersTable(caption: string, rows: readonly AnswerRow[], folded: boolean): TableBlock {
  const known = METRICS.filter((metric) => rows.some((row) => row[metric] !== undefined));
  const scores = rows.filter(({ measure }) => !isControl(measure));
  const highest = known.map((metric) => best(scores.map((row) => row[metric]?.value)));
  const line = (row: AnswerRow): Row => ({
    label: scoreLabel(row),
    cells: known.map((metric, i) => {
      const estimate = row[metric] ?? UNMEASURED;
      return { ...estimate, digits: 3, best: estimate.value !== null && estimate.value === highest[i] };
    }),
  });
  const { n, positives } = rows[0]!;
  return {
    kind: 'table',
    caption: `${caption}: ${n} answers, ${positives} wrong`,
    stub: 'Score',
    groups: [{ label: null, detail: null, columns: known.map((metric) => LABELS[METRICS.indexOf(metric)]!) }],
    parts: [false, true]
      .map((control) => rows.filter(({ measure }) => isControl(measure) === control).map(line))
      .filter((part) => part.length > 0),
    divider: 'controls',
    notes: folded
      ? []
      : [
          'AUROC: how likely a wrong answer scores higher than a right one; chance is 0.5. AP: average precision; chance is the share of wrong answers. PRR: prediction–rejection ratio, how much of what an oracle gains by rejecting answers the score gains, 0 by chance; half: at most half of the answers are rejected. Of each measure the way to put tokens together with the highest AUROC.',
        ],
    folded,
  };
}

/** Accuracy by the share of the answers that are left out: each measure's best score, and an oracle. */
function rejectionTable({ rejection, n, wrong }: Answers, rows: readonly AnswerRow[]): TableBlock {
  const pointsOf = (of: Score): Answers['rejection'][number]['points'] =>
    rejection.find(({ measure, aggregation }) => measure === of.measure && aggregation === of.aggregation)
      ?.points ?? [];
  const named = rows.filter(({ measure }) => !isControl(measure));
  return plainTable(
    'Accuracy of the answers that are left where those with the highest scores are left out',
    ['Left out', 'Answers left', ...named.map(scoreLabel), 'oracle'],
    (rejection[0]?.points ?? []).map(({ rejected, kept }, i) => ({
      label: `${Math.round(100 * rejected)} %`,
      cells: [
        kept,
        ...named.map((row) => ({ ...(pointsOf(row)[i]?.accuracy ?? UNMEASURED), digits: 3 })),
        { value: Math.min(1, (n - wrong) / kept), interval: null, digits: 3 },
      ],
    })),
    { folded: true },
  );
}

function thresholdBlocks({ thresholds }: Answers, score: Score): Block[] {
  if (thresholds.length === 0) return [];
  return [
    plainTable(
      `Which threshold: ${scoreLabel(score)}`,
      ['Right answers flagged, at most', 'Flag scores above', 'Wrong answers flagged'],
      thresholds.map(({ rightFlagged, score: threshold, recall }) => ({
        label: `${100 * rightFlagged} %`,
        cells:
          threshold === null
            ? [`needs ${Math.round(1 / rightFlagged)} right answers`, UNMEASURED_RECALL]
            : [threshold.toPrecision(4), { ...recall, digits: 3 }],
      })),
      {
        notes: [
          'Of these answers. The score is of the whole answer; flinch bench calibrate makes the file with which flinch serve turns scores of steps into risks.',
        ],
      },
    ),
  ];
}

const UNMEASURED_RECALL = { ...UNMEASURED, digits: 3 };

const lookAt: Block = {
  kind: 'text',
  text: [
    'The worst false alarms and the worst misses, token by token: ',
    { text: 'answers to look at', href: ANSWERS_PAGE },
    '.',
  ],
};
