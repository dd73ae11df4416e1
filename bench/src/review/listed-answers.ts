import { digestMeasure } from '../evaluate/case.js';
import type { Evaluation } from '../records/evaluation.js';
import type { ScoreRecord } from '../records/records.js';
import type { AnswerList, ListedAnswer } from '../report/answers-page.js';
import { type Run, runTitle } from '../report/runs.js';
import { scoreLabel } from '../report/sections/answers-section.js';
import { stepsOf } from '../run/run-context.js';
import { peekRecords, readRun, readScores } from '../run/run-folder.js';
import { type ResponseStep, tokensIn } from '../steps/response-steps.js';

/** All answers of a run that are checked, with their best score. */
export async function listAnswers(run: Run): Promise<AnswerList> {
  const { folder, evaluation } = run;
  const { problems, settings } = await readRun(folder);
  const { responses, checks, located } = await peekRecords(folder);
  const best = evaluation.answers?.best ?? null;
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  const scores = new Map<string, Scores>();
  for await (const score of readScores(folder)) {
    const [problem, response] = [byId.get(score.id), responses.get(score.id)];
    if (problem && response)
      scores.set(score.id, scoresOf(score, stepsOf(problem, response), best, settings.measures));
  }
  const answers = problems.flatMap((problem): ListedAnswer[] => {
    const { id, subset, question, reference } = problem;
    const [response, check] = [responses.get(id), checks.get(id)];
    if (!response || !check) return [];
    const texts = response.tokenTexts;
    const span = located.get(id)?.span;
    const range = span && stepsOf(problem, response).length > 1 ? tokensIn(texts, span) : null;
    const { extracted, correct, by } = check;
    const { whole = null, tokens = texts.map(() => null) } = scores.get(id) ?? {};
    return [
      {
        ...{ id, group: subset, question, reference, extracted, correct, by, texts },
        score: whole,
        scores: tokens,
        wrong: range ? [range.start, range.end] : null,
      },
    ];
  });
  return { title: runTitle(run), folder, score: best && scoreLabel(best), answers };
}

interface Scores {
  readonly whole: number | null;
  readonly tokens: readonly (number | null)[];
}

/** Of the best measure; tokens by the first that scores them, if that does not. */
function scoresOf(
  score: ScoreRecord,
  steps: readonly ResponseStep[],
  best: NonNullable<Evaluation['answers']>['best'],
  measures: readonly string[],
): Scores {
  const whole = best && digestMeasure(best.measure, score, steps, null).response.get(best.aggregation);
  const colouring = [...(best ? [best.measure] : []), ...measures].find((name) => name in score.tokens);
  return { whole: whole ?? null, tokens: colouring === undefined ? [] : score.tokens[colouring]! };
}
