import type { Evaluation } from '../records/evaluation.js';
import { formatScore } from './cell-text.js';
import type { Block, CaseToken, ReportDocument, Section, TokenHeat } from './document.js';
import { measureLabel } from './measure-label.js';
import { perRun, type Run, runTitle } from './runs.js';
import { scoreLabel } from './sections/answers-section.js';

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
  of(answers!).map((answer, i) => ({
    kind: 'case',
    title: `${i + 1}. ${answer.id}, ${answer.subset}: score ${formatScore(answer.score, 3)}`,
    question: answer.question,
    reference: answer.reference,
    extracted: answer.extracted,
    correct: answer.correct,
    measure: answer.measure === null ? '' : measureLabel(answer.measure),
    tokens: caseTokens(answer, singleStep),
  }));

/**
 * A token belongs to the step that holds its first character that is not blank; a blank one goes with its beginning. Where
 * the first wrong step is the whole answer there is nothing to mark.
 */
function caseTokens({ tokenTexts, tokens, wrong }: LookedAt, singleStep: boolean): CaseToken[] {
  const heats = tokenHeats(tokens);
  const [from, to] = (singleStep ? null : wrong) ?? [0, 0];
  let end = 0;
  return tokenTexts.map((text, i) => {
    const start = end;
    end += text.length;
    const ink = start + Math.max(0, text.search(/\S/));
    return { text, wrong: ink >= from && ink < to, heat: heats[i] ?? null };
  });
}

/** A score equal to the lowest is no doubt, however many share it (docs/design/evaluation.md, section 0.1). */
export function tokenHeats(scores: readonly (number | null)[]): (TokenHeat | null)[] {
  const known = scores.filter((score) => score !== null).sort((a, b) => a - b);
  return scores.map((score) => {
    if (score === null) return null;
    const lower = known.findIndex((other) => other >= score);
    const higher = known.length - known.findLastIndex((other) => other <= score) - 1;
    return { score, quantile: lower / known.length, rank: higher < 3 && lower > 0 ? higher + 1 : null };
  });
}
