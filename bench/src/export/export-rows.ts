import { digestMeasure, type MeasureDigest } from '../evaluate/case.js';
import type { ResponseRecord, ScoreRecord } from '../records/records.js';
import { type ClaimsKnown, isLabelled, type Progressed } from '../records/selection.js';
import { stepsOf, textOf } from '../run/run-context.js';
import { firstWrongStep } from '../steps/first-wrong-step.js';
import { type ResponseStep, tokensIn } from '../steps/response-steps.js';
import type { BenchProblem } from '../suites/suite.js';

/** A cell of a CSV file; `null` is empty. */
export type CsvCell = string | number | boolean | null;
export type CsvRow = Readonly<Record<string, CsvCell>>;

/** All that is exported of a run. */
export interface Exported {
  readonly problems: readonly BenchProblem[];
  readonly measures: readonly string[];
  readonly records: Progressed & ClaimsKnown;
  /** To be read more than once. */
  readonly scores: AsyncIterable<ScoreRecord>;
}

export const ANSWER_COLUMNS = [
  ...['id', 'group', 'question', 'answer', 'response', 'extracted', 'right', 'labelled_by'],
  ...['finish', 'token_count', 'step_count', 'first_wrong_step'],
] as const;
/** What else a question may have: of those that {@link answerRows} may have a cell for. */
const ASKED_COLUMNS = ['context', 'choices', 'messages'] as const;
export const STEP_COLUMNS = ['id', 'group', 'step', 'from', 'to', 'text', 'wrong'] as const;

interface Scored {
  readonly problem: BenchProblem;
  readonly response: ResponseRecord;
  readonly steps: readonly ResponseStep[];
  readonly score: ScoreRecord;
}

/** One row for each response, in the order of the problems; what is not known is `null`. */
export async function* answerRows(run: Exported): AsyncGenerator<CsvRow> {
  const scores = new Map<string, CsvRow>();
  for await (const scored of scoredResponses(run))
    scores.set(
      scored.score.id,
      columns(run, scored, ({ response }) => response),
    );
  for (const problem of run.problems) {
    const { id, subset, question, row } = problem;
    const response = run.records.responses.get(id);
    const check = run.records.checks.get(id);
    if (!response) continue;
    const steps = stepsOf(problem, response);
    yield {
      id,
      group: subset,
      question,
      answer: listCell(answersOf(problem)),
      response: textOf(response),
      extracted: check?.extracted ?? null,
      right: check ? (check.correct ?? 'unsure') : null,
      labelled_by: check?.by ?? null,
      finish: response.finish,
      token_count: response.tokenIds.length,
      step_count: steps.length,
      first_wrong_step: firstWrongOf(run, id, steps),
      context: row?.context ?? null,
      choices: row?.choices ? listCell(row.choices) : null,
      messages: row?.messages ? JSON.stringify(row.messages) : null,
      ...scores.get(id),
    };
  }
}

/** Those of {@link ASKED_COLUMNS} that a question has. */
export const askedColumns = ({ problems }: Pick<Exported, 'problems'>): string[] =>
  ASKED_COLUMNS.filter((column) => problems.some(({ row }) => row?.[column]));

/** Right answers, as the check reads them. */
const answersOf = ({ reference, row }: BenchProblem): readonly string[] =>
  row?.answers ?? reference?.split(BETWEEN) ?? [];

/** Several texts in a cell; as a list in JSON where one of them has the sign that stands between them. */
const listCell = (texts: readonly string[]): string =>
  texts.some((text) => text.includes('|')) ? JSON.stringify(texts) : texts.join(BETWEEN);
const BETWEEN = ' | ';

/** One row for each step of the responses that are scored, in the order in which they were. */
export async function* stepRows(run: Exported): AsyncGenerator<CsvRow> {
  for await (const scored of scoredResponses(run)) {
    const { problem, response, steps } = scored;
    const { id, subset } = problem;
    const firstWrong = firstWrongOf(run, id, steps);
    const correct = run.records.checks.get(id)?.correct ?? null;
    const measured = Object.entries(columns(run, scored, (digest) => digest.steps));
    for (const [step, { tokens }] of steps.entries()) {
      yield {
        id,
        group: subset,
        step,
        from: tokens.start,
        to: tokens.end,
        text: response.tokenTexts.slice(tokens.start, tokens.end).join(''),
        wrong: isWrong(step, firstWrong, correct),
        ...Object.fromEntries(measured.map(([name, values]) => [name, values[step] ?? null])),
      };
    }
  }
}

/** A step after the first wrong one is neither right nor wrong by itself. */
function isWrong(step: number, firstWrong: number | null, correct: boolean | null): boolean | null {
  if (firstWrong === null) return correct === true ? false : null;
  return step > firstWrong ? null : step === firstWrong;
}

/** One line for each response that is scored: its tokens and their scores. */
export async function* tokenLines(run: Exported): AsyncGenerator<object> {
  for await (const { response, steps, score } of scoredResponses(run)) {
    const { tokenIds, tokenTexts } = response;
    yield {
      id: score.id,
      tokens: tokenIds,
      texts: tokenTexts,
      steps: steps.map(({ tokens }) => [tokens.start, tokens.end]),
      wrong: wrongSpans(run, score.id).flatMap((span) => {
        const range = tokensIn(tokenTexts, span);
        return range ? [[range.start, range.end]] : [];
      }),
      scores: score.tokens,
    };
  }
}

/** A column for each way to put the tokens of a measure together, `nll.mean`; its own score by its name alone. */
function columns<T>(
  { measures }: Exported,
  { steps, score }: Scored,
  of: (digest: MeasureDigest) => ReadonlyMap<string, T>,
): Readonly<Record<string, T>> {
  const entries = measures.flatMap((measure) =>
    [...of(digestMeasure(measure, score, steps, null))].map(
      ([aggregation, value]) =>
        [aggregation === 'own' ? measure : `${measure}.${aggregation}`, value] as const,
    ),
  );
  return Object.fromEntries(entries);
}

/** Names of the columns of measures, of all responses. */
export async function measureColumns(run: Exported, of: 'response' | 'steps'): Promise<string[]> {
  const names = new Set<string>();
  for await (const scored of scoredResponses(run))
    for (const name of Object.keys(columns<unknown>(run, scored, (digest) => digest[of]))) names.add(name);
  return [...names];
}

async function* scoredResponses({ problems, records, scores }: Exported): AsyncGenerator<Scored> {
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  for await (const score of scores) {
    const [problem, response] = [byId.get(score.id), records.responses.get(score.id)];
    if (problem && response) yield { problem, response, steps: stepsOf(problem, response), score };
  }
}

/** Place of the first wrong step; `null` where there is none, or where it is not known. */
const firstWrongOf = ({ records }: Exported, id: string, steps: readonly ResponseStep[]): number | null =>
  firstWrongStep(
    records.located.get(id)?.span ?? null,
    steps.map(({ span }) => span),
  );

/** Characters of the first wrong step, or of claims that are not supported. */
function wrongSpans({ records }: Exported, id: string): (readonly [number, number])[] {
  const span = records.located.get(id)?.span;
  if (span) return [span];
  const claims = records.claims.get(id)?.claims ?? [];
  return claims.flatMap((claim) => (isLabelled(claim) && !claim.supported ? claim.spans : []));
}
