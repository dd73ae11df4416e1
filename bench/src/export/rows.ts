import { digestMeasure, type MeasureDigest } from '../evaluate/case.js';
import type { ResponseRecord, ScoreRecord } from '../records/records.js';
import { type ClaimsKnown, isLabelled, type Progressed } from '../records/selection.js';
import type { RunSettings } from '../records/settings.js';
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
  readonly settings: Pick<RunSettings, 'steps' | 'measures'>;
  readonly records: Progressed & ClaimsKnown;
  /** To be read more than once. */
  readonly scores: AsyncIterable<ScoreRecord>;
}

export const ANSWER_COLUMNS = [
  ...['id', 'subset', 'question', 'reference', 'response', 'extracted', 'correct'],
  ...['finish', 'tokens', 'steps', 'first_wrong_step'],
] as const;
export const STEP_COLUMNS = ['id', 'subset', 'step', 'from', 'to', 'text', 'wrong'] as const;

interface Scored {
  readonly problem: BenchProblem;
  readonly response: ResponseRecord;
  readonly steps: readonly ResponseStep[];
  /** Place of the first wrong step; `null` where there is none, or where it is not known. */
  readonly firstWrong: number | null;
  readonly score: ScoreRecord;
}

/** One row for each response, in the order of the problems; what is not known is `null`. */
export async function* answerRows(run: Exported): AsyncGenerator<CsvRow> {
  const { problems, records, settings } = run;
  const scores = new Map<string, CsvRow>();
  for await (const scored of scoredResponses(run))
    scores.set(
      scored.score.id,
      columns(settings.measures, scored, ({ response }) => response),
    );
  for (const problem of problems) {
    const { id, subset, question, reference } = problem;
    const [response, check] = [records.responses.get(id), records.checks.get(id)];
    if (!response) continue;
    const steps = stepsOf(settings.steps, problem, response);
    yield {
      id,
      subset,
      question,
      reference,
      response: textOf(response),
      extracted: check?.extracted ?? null,
      correct: check?.correct ?? null,
      finish: response.finish,
      tokens: response.tokenIds.length,
      steps: steps.length,
      first_wrong_step: firstWrongOf(run, id, steps),
      ...scores.get(id),
    };
  }
}

/** One row for each step of the responses that are scored, in the order in which they were. */
export async function* stepRows(run: Exported): AsyncGenerator<CsvRow> {
  for await (const scored of scoredResponses(run)) {
    const { problem, response, steps, firstWrong } = scored;
    const correct = run.records.checks.get(problem.id)?.correct ?? null;
    const all = columns(run.settings.measures, scored, ({ steps: ofSteps }) => ofSteps);
    for (const [step, { tokens }] of steps.entries()) {
      const own = Object.entries(all).map(([name, values]) => [name, values[step] ?? null]);
      yield {
        id: problem.id,
        subset: problem.subset,
        step,
        from: tokens.start,
        to: tokens.end,
        text: response.tokenTexts.slice(tokens.start, tokens.end).join(''),
        wrong: isWrong(step, firstWrong, correct),
        ...Object.fromEntries(own),
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
    const spans = wrongSpans(run, score.id);
    yield {
      id: score.id,
      tokens: tokenIds,
      texts: tokenTexts,
      steps: steps.map(({ tokens }) => [tokens.start, tokens.end]),
      wrong: spans.flatMap((span) => {
        const range = tokensIn(tokenTexts, span);
        return range ? [[range.start, range.end]] : [];
      }),
      scores: score.tokens,
    };
  }
}

type Columns<T> = Readonly<Record<string, T>>;

/** A column for each way to put the tokens of a measure together, `nll.mean`; its own score by its name alone. */
function columns<T>(
  measures: readonly string[],
  { steps, score }: Scored,
  of: (digest: MeasureDigest) => ReadonlyMap<string, T>,
): Columns<T> {
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
    for (const name of Object.keys(columns<unknown>(run.settings.measures, scored, (digest) => digest[of])))
      names.add(name);
  return [...names];
}

async function* scoredResponses(run: Exported): AsyncGenerator<Scored> {
  const byId = new Map(run.problems.map((problem) => [problem.id, problem]));
  for await (const score of run.scores) {
    const [problem, response] = [byId.get(score.id), run.records.responses.get(score.id)];
    if (!problem || !response) continue;
    const steps = stepsOf(run.settings.steps, problem, response);
    yield { problem, response, steps, score, firstWrong: firstWrongOf(run, score.id, steps) };
  }
}

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
