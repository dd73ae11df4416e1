import type { Evaluation } from '../records/evaluation.js';
import { fixed } from './cell-text.js';
import type { Block, ReportDocument, Section } from './document.js';
import { perRun } from './per-run.js';
import { runTitle } from './run-title.js';
import type { Run } from './runs.js';
import { scoreLabel } from './sections/answers.js';
import { caseBlock, marked } from './sections/cases.js';

type Answers = NonNullable<Evaluation['answers']>;
type LookedAt = Answers['misses'][number];

/** The answers on which the best score is most wrong, as a page of their own; `null` where no run has some. */
export function buildAnswers(runs: readonly Run[]): ReportDocument | null {
  const withAnswers = runs.filter(({ evaluation }) => evaluation.answers?.best);
  if (withAnswers.length === 0) return null;
  const section = (
    id: string,
    title: string,
    lead: string,
    of: (answers: Answers) => readonly LookedAt[],
  ): Section => ({
    id,
    title,
    blocks: [
      { kind: 'text', text: lead },
      ...perRun(withAnswers, ({ evaluation }) => blocksOf(evaluation, of)),
    ],
  });
  return {
    title: 'Answers to look at',
    lead: withAnswers.map((run) => `${runTitle(run)}: by ${scoreLabel(run.evaluation.answers!.best!)}`),
    sections: [
      section(
        'false-alarms',
        'Worst false alarms',
        'Right answers with the highest scores. A deeper colour means that the token’s score ranks higher within its answer; ¹ ² ³ are the three highest. Look whether the reference is wrong, or the answer said in an unusual way.',
        ({ falseAlarms }) => falseAlarms,
      ),
      section(
        'misses',
        'Worst misses',
        'Wrong answers with the lowest scores: the model is sure of them, or the check of the answer is wrong.',
        ({ misses }) => misses,
      ),
    ],
  };
}

const blocksOf = (
  { answers, singleStep }: Evaluation,
  of: (answers: Answers) => readonly LookedAt[],
): Block[] =>
  of(answers!).map((study, i) => ({
    ...caseBlock(marked(study, singleStep), false),
    title: `${i + 1}. ${study.id}, ${study.subset}: score ${formatScore(study.score)}`,
  }));

const formatScore = (score: number): string =>
  score !== 0 && Math.abs(score) < 1e-3 ? score.toExponential(2) : fixed(score, 3);
