import { formatDevices, formatDuration } from 'flinch/internals';
import { mean } from 'simple-statistics';
import { samplesNeeded } from '../../measures/measure.js';
import { asksJudge } from '../judging.js';
import { encodeGiven } from '../problem-prompt.js';
import type { Run } from '../run-context.js';
import type { StageName } from '../stage-names.js';
import { judgedSizes, requestsEach } from './judge-requests.js';
import { plannedWork, type StageWork } from './planned-work.js';
import { measureScoring, measureWriting } from './speed.js';

/** What is left of a run, with estimates. */
export interface Plan {
  readonly suite: string;
  readonly problems: number;
  readonly model: string;
  readonly device: string;
  readonly stages: readonly PlannedStage[];
  /** Time of all stages, where it is known. */
  readonly seconds: number;
  /** Tokens of a response. */
  readonly responseTokens: number;
}

export interface PlannedStage extends StageWork {
  /** Time for the expected work; `null` if a judge or the completions of rollouts decide it. */
  readonly seconds: number | null;
  /** Requests to the judge for the expected work; `null` if none is asked. */
  readonly requests: number | null;
}

/** Counts what is left to do, and measures how fast that goes by a few short responses, which are thrown away. */
export async function planRun(run: Run, stages: readonly StageName[]): Promise<Plan> {
  const { engine, suite, problems, records } = run;
  const work = plannedWork(run, stages);
  const left = (...names: readonly StageName[]): boolean =>
    work.some(({ stage, expected }) => names.includes(stage) && expected > 0);
  const asked = problems.filter(({ id }) => !records.responses.has(id));
  const first = asked[0] ?? problems[0]!;
  const writes = left('sample', 'time') || (left('generate') && !first.given);
  const written = writes ? await measureWriting(run, asked.length > 0 ? asked : problems) : null;
  const room = Math.max(1, Math.min(run.settings.maxTokens, engine.contextLength) / 2);
  const responseTokens = Math.ceil(knownLength(run) ?? written?.length ?? room);
  const scoring = left('score', 'time') ? await measureScoring(run, first, responseTokens) : 0;
  const response = written === null ? 0 : responseTokens / written.perSecond;
  const sizes = judgedSizes(run, responseTokens);
  const planned = work.map((one): PlannedStage => {
    if (asksJudge(run, one.stage))
      return {
        ...one,
        seconds: null,
        requests: Math.round(one.expected * requestsEach(one.stage, run, sizes)),
      };
    return { ...one, seconds: secondsOf(run, one, response, scoring), requests: null };
  });
  return {
    suite: run.settings.task?.name ?? suite.name,
    problems: problems.length,
    model: engine.checkpoint.name,
    device: formatDevices(engine),
    stages: planned,
    seconds: planned.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0),
    responseTokens,
  };
}

/**
 * @param response seconds to write one
 * @param scoring seconds to score one by all measures
 */
function secondsOf(run: Run, { stage, expected }: StageWork, response: number, scoring: number) {
  if (stage === 'locate' && run.completer && expected > 0) return null;
  if (stage === 'generate') return run.problems[0]?.given ? 0 : expected * response;
  if (stage === 'sample') return expected * response;
  if (stage === 'score') return expected * scoring;
  // The first one twice, for its sessions are opened.
  if (stage === 'time' && expected > 0)
    return (expected + 1) * ((1 + samplesNeeded(run.measures)) * response + scoring);
  return 0;
}

/** Mean tokens of the responses that are there, or come with the problems. */
function knownLength({ records, engine, problems }: Run): number | null {
  const lengths = [...records.responses.values()].map(({ tokenIds }) => tokenIds.length);
  if (lengths.length > 0) return mean(lengths);
  const given = problems.slice(0, SOME).flatMap(({ given }) => given ?? []);
  const encoded = given.map((one) => encodeGiven(engine.checkpoint, one)?.tokenIds.length ?? 0);
  return encoded.length > 0 ? mean(encoded) : null;
}

/** Given responses whose length is measured. */
const SOME = 8;

const WORDS: Readonly<Record<StageWork['stage'], string>> = {
  generate: 'responses',
  check: 'final answers',
  locate: 'first wrong steps',
  claims: 'responses with claims',
  sample: 'further responses',
  graph: 'graphs of claims',
  score: 'responses',
  time: 'responses',
};

/** Plan in text form; ends without a newline. */
export function formatPlan({
  suite,
  problems,
  model,
  device,
  stages,
  seconds,
  responseTokens,
}: Plan): string {
  const lines = stages.map(({ stage, done, expected, seconds: time, requests }) => {
    const work = `${expected} ${WORDS[stage]}${done > 0 ? `, ${done} done` : ''}`;
    const takes = requests ? `asks the judge ${requests} times` : time ? formatDuration(time) : '';
    return `  ${stage.padEnd(8)}  ${work.padEnd(40)}  ${takes}`.trimEnd();
  });
  const untimed = stages.some((stage) => stage.seconds === null) ? ', without judge and completions' : '';
  return [
    `plan: ${problems} problems of ${suite}, ${model} on ${device}`,
    ...(lines.length > 0 ? lines : ['  nothing is left to do']),
    `  about ${formatDuration(seconds)}${untimed}, if a response has ${responseTokens} tokens`,
  ].join('\n');
}
