import { needsClaimGraph } from '../../measures/measure.js';
import { parseMeasure } from '../../measures/parse-measure.js';
import type { CheckRecord, ClaimsRecord, LocatedRecord, ResponseRecord } from '../../records/records.js';
import {
  askedIn,
  type ClaimsKnown,
  isLeftOut,
  type Progressed,
  ruleOf,
  scoredIn,
  select,
} from '../../records/selection.js';
import { responseText } from '../../suites/processbench.js';
import type { BenchProblem } from '../../suites/suite.js';
import { labelledBy } from '../labels.js';
import type { Run } from '../run-context.js';
import { sampleKey } from '../run-folder.js';
import { STAGES, type StageName } from '../stage-names.js';

/** Work of a stage: problems, for `sample` further responses. */
export interface StageWork {
  readonly stage: Exclude<StageName, 'evaluate'>;
  readonly done: number;
  /** Work left if as many responses are wrong as {@link expectedWrong} says. */
  readonly expected: number;
}

/** `timed`: responses of which each measure is timed. */
type PlannedRun = Pick<Run, 'suite' | 'problems' | 'settings' | 'records' | 'timed'>;

/**
 * Work left for each stage. Unknown results are supposed, and go through the same selection as real ones: a
 * plan uses the code of the run itself.
 */
export function plannedWork(run: PlannedRun, stages: readonly StageName[]): StageWork[] {
  const expected = leftToDo(run, stages, evenly(expectedWrong(run)));
  const { responses, checks, located, claims, samples, graphs, scored, times } = run.records;
  const done = {
    generate: responses.size,
    check: checks.size,
    locate: located.size,
    claims: claims.size,
    sample: samples.size,
    graph: graphs.size,
    score: scored.size,
    time: times.size,
  };
  return STAGES.flatMap((stage): StageWork[] => {
    if (stage === 'evaluate' || !stages.includes(stage)) return [];
    // What a file says of a step takes no work.
    if (stage === 'locate' && run.suite.name === 'own' && !run.settings.label) return [];
    if (expected[stage] === 0 && done[stage] === 0) return [];
    return [{ stage, done: done[stage], expected: expected[stage] }];
  });
}

/** Whether a problem that has not been asked is supposed to be answered wrong. */
type Outcome = (problem: BenchProblem) => boolean;

/** Checked answers that say something about those to come. */
const ENOUGH = 10;

/** The share of answers that are wrong: as many as so far, or half of them. */
function expectedWrong({ records: { checks } }: Pick<Run, 'records'>): number {
  if (checks.size < ENOUGH) return 0.5;
  return [...checks.values()].filter(({ correct }) => correct === false).length / checks.size;
}

/** Marks this share of each subset as wrong, spread evenly. */
function evenly(share: number): Outcome {
  const seen = new Map<string, number>();
  const known = new Map<string, boolean>();
  return ({ id, subset }) => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const n = seen.get(subset) ?? 0;
    seen.set(subset, n + 1);
    const isWrong = Math.floor((n + 1) * share) > Math.floor(n * share);
    known.set(id, isWrong);
    return isWrong;
  };
}

/** @param stages that find out what is not known */
function leftToDo(run: PlannedRun, stages: readonly StageName[], isWrong: Outcome) {
  const { suite, problems, settings, records, timed } = run;
  const known = supposed(run, stages, isWrong);
  const rule = ruleOf(settings);
  const asked = askedIn(suite, problems, known, rule);
  const whole = asked.filter(({ id }) => {
    const response = known.responses.get(id);
    return response && !isLeftOut(response);
  });
  const scored = [...scoredIn(suite, problems, known, rule)];
  const samples = scored.flatMap((id) =>
    Array.from({ length: settings.samples }, (_, i) => sampleKey({ id, sample: i + 1 })),
  );
  const answers = suite.judged === 'answer';
  const { examined, next } = select(answers ? problems : [], known, rule);
  const toLocate = [...examined, ...next.map(({ id }) => id)];
  const left = <T>(items: readonly T[], isDone: (item: T) => boolean): number =>
    items.filter((item) => !isDone(item)).length;
  return {
    generate: left(asked, ({ id }) => records.responses.has(id)),
    check: answers ? left(whole, ({ id }) => records.checks.has(id)) : 0,
    locate: left(toLocate, (id) => records.located.has(id)),
    claims: answers ? 0 : left(whole, ({ id }) => records.claims.has(id)),
    sample: left(samples, (key) => records.samples.has(key)),
    graph: answers || !goesByGraphs(settings) ? 0 : left(scored, (id) => records.graphs.has(id)),
    score: left(scored, (id) => records.scored.has(id)),
    time: left(scored.slice(0, timed), (id) => records.times.has(id)),
  };
}

const goesByGraphs = ({ measures }: Run['settings']): boolean => needsClaimGraph(measures.map(parseMeasure));

/** Known results, and supposed ones for those that the stages are going to find out. */
function supposed(
  { suite, problems, settings, records }: PlannedRun,
  stages: readonly StageName[],
  isWrong: Outcome,
): Progressed & ClaimsKnown {
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  const isRight = (id: string): boolean | null => {
    const problem = byId.get(id)!;
    const { given } = problem;
    const checked = given && suite.check(problem, responseText(given));
    return checked ? checked.correct : !isWrong(problem);
  };
  const orElse = <T>(
    found: { readonly get: (id: string) => T | undefined },
    stage: StageName,
    made: (id: string) => T,
  ) => ({
    get: (id: string): T | undefined => found.get(id) ?? (stages.includes(stage) ? made(id) : undefined),
  });
  return {
    responses: orElse(records.responses, 'generate', (id): ResponseRecord => ({ id, ...RESPONSE })),
    checks: orElse(
      records.checks,
      'check',
      (id): CheckRecord => ({
        id,
        extracted: null,
        correct: isRight(id),
        by: 'rules',
      }),
    ),
    located: orElse(
      records.located,
      'locate',
      (id): LocatedRecord => ({
        id,
        by: labelledBy(suite, settings),
        span: [0, 1],
      }),
    ),
    claims: orElse(
      records.claims,
      'claims',
      (id): ClaimsRecord => ({
        id,
        by: 'judge',
        claims: [{ claim: '', spans: [[0, 1]], supported: true }],
      }),
    ),
  };
}

const RESPONSE: Omit<ResponseRecord, 'id'> = {
  subset: '',
  promptTokens: 1,
  tokenIds: [0],
  tokenTexts: ['x'],
  finish: 'stop',
  seconds: 0,
};
