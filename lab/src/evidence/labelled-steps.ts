import { isTruncated } from '#bench/records/selection.js';
import { stepsOf } from '#bench/run/run-context.js';
import { peekRecords, readRun, readScores } from '#bench/run/run-folder.js';
import { firstWrongStep } from '#bench/steps/first-wrong-step.js';
import { UsageError } from '#src/files/errors.js';

export interface LabelledStep {
  /** Number of its answer. */
  readonly answer: number;
  /** First wrong, right, or after the first wrong one: what follows an error is neither right nor wrong of itself. */
  readonly label: 'wrong' | 'right' | 'after';
  /** Its place in the answer, from 0. */
  readonly place: number;
  readonly tokens: number;
  /** By measure; `null` where the schedule skipped a token. */
  readonly scores: ReadonlyMap<string, readonly (number | null)[]>;
}

export interface StepSet {
  readonly name: string;
  readonly answers: number;
  /** Measures of tokens, in the order of the run. */
  readonly measures: readonly string[];
  readonly steps: readonly LabelledStep[];
}

/**
 * The steps of a run of `flinch bench run --score all`. Answers that were cut off do not count, nor wrong ones whose first
 * wrong step is not known.
 * @throws UsageError for another folder
 */
export async function labelledSteps(folder: string): Promise<StepSet> {
  const { settings, about, problems } = await readRun(folder);
  if (settings.score !== 'all') throw new UsageError(`${folder}: is not a run with --score all`);
  const { responses, checks, located } = await peekRecords(folder);
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  const measures = new Set<string>();
  const steps: LabelledStep[] = [];
  let answers = 0;
  for await (const { id, tokens } of readScores(folder)) {
    const [problem, response, check] = [byId.get(id), responses.get(id), checks.get(id)];
    if (!problem || !response || !check || isTruncated(response)) continue;
    const mine = stepsOf(settings.steps, problem, response);
    const span = located.get(id)?.span ?? null;
    const firstWrong = firstWrongStep(
      span,
      mine.map((step) => step.span),
    );
    if (!check.correct && firstWrong === null) continue;
    for (const measure of Object.keys(tokens)) measures.add(measure);
    for (const [place, step] of mine.entries()) {
      const { start, end } = step.tokens;
      const scores = new Map(Object.entries(tokens).map(([name, all]) => [name, all.slice(start, end)]));
      const label = place === firstWrong ? 'wrong' : place < (firstWrong ?? mine.length) ? 'right' : 'after';
      steps.push({ answer: answers, label, place, tokens: end - start, scores });
    }
    answers += 1;
  }
  const { suite, subsets, measures: order } = settings;
  const name = `${suite}${subsets ? ` ${subsets.join(', ')}` : ''}, ${about.model.name}`;
  return { name, answers, measures: order.filter((measure) => measures.has(measure)), steps };
}
