import { join } from 'node:path';
import { say } from 'flinch/internals';
import { table } from '../markdown-table.js';
import type { Evaluation } from '../records/evaluation.js';
import { rolloutsNamed } from '../records/run-settings.js';
import {
  choiceSentence,
  kindsNamed,
  labelSentence,
  readingSentence,
  rowsByRank,
  shortages,
} from '../report/answer-words.js';
import { formatEstimate } from '../statistics/estimate.js';
import { comesLabelled } from '../suites/suite.js';
import { EVALUATION } from './run-folder.js';

/** Prints the result of a run. */
export const printSummary = (folder: string, evaluation: Evaluation, json: boolean): void =>
  say(`${summaryOf(folder, evaluation, json)}\n`);

/** The result of a run, for all subsets together; all else is in its folder. Answers first, then steps, then tokens. */
export function summaryOf(folder: string, evaluation: Evaluation, json: boolean): string {
  const [counts] = evaluation.counts;
  const [claimCounts] = evaluation.claimCounts;
  const all = <T extends { readonly scope: string }>(rows: readonly T[]): T[] =>
    rows.filter(({ scope }) => scope === 'all');
  const tables = {
    tokens: all(evaluation.tokens),
    steps: all(evaluation.steps),
    responses: answersAreCompared(evaluation) ? all(evaluation.responses) : [],
    pooled: all(evaluation.pooled),
    claims: all(evaluation.claims),
    efficiency: evaluation.efficiency,
  };
  const missing = shortages(evaluation);
  if (json) {
    const summary = { counts, claimCounts, answers: evaluation.answers, missing, ...tables };
    return JSON.stringify({ evaluation: join(folder, EVALUATION), ...summary });
  }
  const answered = counts && answersLine(counts, evaluation);
  const claimed = claimCounts && claimsLine(claimCounts);
  const parts = [
    ...answerSentences(evaluation),
    answered ?? claimed ?? 'no responses',
    ...labelSentence(evaluation),
    ...missing,
    table(
      ['wrong answers score higher', 'of their tokens', 'AUROC', 'average precision', 'PRR'],
      tables.responses.length === 0
        ? []
        : rowsByRank(evaluation).map((row) => [
            row.measure,
            row.aggregation,
            show(row.auroc),
            show(row.averagePrecision),
            show(row.prr),
          ]),
    ),
    table(
      ['first wrong steps score higher than right ones', 'of their tokens', 'AUROC', 'average precision'],
      tables.pooled.map((row) => [row.measure, row.aggregation, show(row.auroc), show(row.averagePrecision)]),
    ),
    table(
      ['the first wrong step holds one of the highest', '3 tokens', '5 tokens', '1 %'],
      tables.tokens.map((row) => [row.measure, show(row.top3), show(row.top5), show(row.top1pct)]),
    ),
    table(
      ['the first wrong step is among the highest', 'of its tokens', '1', '2', '3'],
      tables.steps.map((row) => [
        row.measure,
        row.aggregation,
        show(row.top1),
        show(row.top2),
        show(row.top3),
      ]),
    ),
    table(
      ['unsupported claims score higher', 'of their tokens', 'AUROC', 'average precision'],
      tables.claims.map((row) => [row.measure, row.aggregation, show(row.auroc), show(row.averagePrecision)]),
    ),
    table(
      ['added', 'seconds', 'of the time to write'],
      tables.efficiency.map((row) => [row.measure, show(row.seconds), show(row.relative)]),
    ),
    `flinch bench report ${folder} writes a page of tables${evaluation.counts.length > 0 ? ', and one of all answers, where labels are mended' : ''}`,
  ];
  // A table without a row has two lines.
  return parts.filter((part) => part.split('\n').length !== 2 || !part.startsWith('|')).join('\n\n');
}

/** Measured, but not defined for these cases: there is no class to find, or no other one. */
const show = ({ value, interval }: Evaluation['counts'][number]['accuracy']): string =>
  value === null ? 'n/a' : formatEstimate({ value, interval }, 3);

const answersAreCompared = ({ answers }: Evaluation): boolean => answers === null || answers.best !== null;

const nameOf = ({ measure, aggregation }: NonNullable<NonNullable<Evaluation['answers']>['best']>): string =>
  aggregation === 'own' ? measure : `${measure}, ${aggregation} over tokens`;

/** What the best score is worth. */
function answerSentences({ answers }: Evaluation): string[] {
  if (!answers?.best) return [];
  const sentences = [readingSentence(answers, nameOf(answers.best)), choiceSentence(answers)];
  return [sentences.filter((one) => one !== null).join('\n')];
}

function answersLine(counts: Evaluation['counts'][number], { suite, settings }: Evaluation): string {
  const { problems, correct, wrong, unsure, kinds, truncated, located, rejected, accuracy } = counts;
  // Labelled responses come from other models, and say nothing of this one.
  const share = comesLabelled(suite) ? '' : `; accuracy ${show(accuracy)}`;
  const by = rolloutsNamed(settings);
  const labels = by === null ? '' : `, labels by ${by}; ${rejected.not_reached ?? 0} not found`;
  const steps = located === 0 && rejected.unlabelled ? '' : `\n${located} first wrong steps${labels}`;
  return [
    `${problems} problems: ${correct} right, ${wrong} wrong, ${unsure} unsure, ${truncated} cut off${share}${steps}`,
    ...(Object.keys(kinds).length > 0 ? [`answers read as ${kindsNamed(kinds)}`] : []),
  ].join('\n');
}

const claimsLine = (counts: Evaluation['claimCounts'][number]): string =>
  `${counts.problems} responses, ${counts.truncated} cut off, ${counts.responses} with labelled claims: ${counts.supported} supported, ${counts.unsupported} unsupported; mean share of supported ones ${show(counts.precision)}
${counts.unlabelled} claims without a label, ${counts.unplaced} not found in their response`;
