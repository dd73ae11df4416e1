import { formatBytes, formatDevices, formatDuration } from 'flinch/internals';
import { samplesNeeded } from '../../measures/measure.js';
import { askedIn } from '../../records/selection.js';
import { asksJudge } from '../judging.js';
import type { Run } from '../run-context.js';
import type { StageName } from '../stage-names.js';
import { type JudgedSizes, judgedSizes, requestsEach } from './judge-requests.js';
import { plannedMemory } from './memory.js';
import { expectedWrong, plannedWork, type StageWork } from './planned-work.js';
import { type RolloutCost, rolloutCost } from './rollout-cost.js';
import { measureSpeed, type Speed } from './speed.js';

/** Work of a run, with its estimated time and memory. */
export interface Plan {
  readonly suite: string;
  readonly problems: number;
  readonly model: string;
  readonly device: string;
  readonly stages: readonly PlannedStage[];
  /** Time of all stages, where it is known. */
  readonly seconds: number;
  /** Whether it is: not where only a few responses are left. */
  readonly isMeasured: boolean;
  /** Bytes. */
  readonly memory: number;
  /** The share of answers that is supposed to be wrong. */
  readonly wrong: number;
  readonly speed: Speed;
  readonly sizes: JudgedSizes;
  /** Work for one label by rollouts; `null` where there are none. */
  readonly rollouts: RolloutCost | null;
}

export interface PlannedStage extends StageWork {
  /** Time for the expected work; `null` if a judge or a server decides whose speed is not known. */
  readonly seconds: number | null;
  /** Whether a judge is asked, and not a program or labels. */
  readonly judged: boolean;
  /** Requests to the judge for the expected work; `null` if none is asked. */
  readonly requests: number | null;
  /** Completions to be drawn for the expected work, and their tokens; `null` if none is. */
  readonly rollouts: Pick<RolloutCost, 'completions' | 'tokens'> | null;
}

/** So few responses are written and scored before their speed is measured. */
export const FEW = 8;

/**
 * Counts what is left to do, and measures how fast that goes: a few seconds with a small model.
 * @param folder where the speed is kept once it is measured
 * @param few how many responses are so few that nothing is measured
 */
export async function planRun(
  run: Run,
  stages: readonly StageName[],
  { folder, few = 0 }: { readonly folder: string; readonly few?: number },
): Promise<Plan> {
  const { engine, suite, problems, isMine, records, rule } = run;
  const work = plannedWork(run, stages);
  const left = (...names: readonly StageName[]): number =>
    work.filter(({ stage }) => names.includes(stage)).reduce((sum, { most }) => sum + most, 0);
  const asked = askedIn(suite, problems, records, rule).filter(
    (problem) => isMine(problem) && !records.responses.has(problem.id),
  );
  const [first] = asked.length > 0 ? asked : problems;
  // Responses that come with a suite, or in a file, are read.
  const writes =
    run.writer.kind !== 'file' &&
    (left('sample', 'time') > 0 ||
      (left('generate') > 0 && !first?.given) ||
      (left('locate') > 0 && completesAsWriter(run)));
  const isShort = Math.max(left('generate'), left('score'), left('sample')) <= few && left('time') === 0;
  const speed = await measureSpeed(
    run,
    asked.length > 0 ? asked : problems.filter(isMine),
    isShort ? null : { writes, scores: left('score', 'time') > 0, folder },
  );
  const sizes = judgedSizes(run, speed);
  const { label } = run.settings;
  const rollouts = label?.by === 'rollouts' ? rolloutCost(label, run, speed) : null;
  const planned = work.map((one) => plannedStage(run, one, { speed, sizes, rollouts }));
  return {
    suite: run.settings.task?.name ?? suite.name,
    problems: problems.filter(isMine).length,
    model: engine.checkpoint.name,
    // Sessions, which know their device, open with the first measurement.
    device: isShort ? run.settings.device : formatDevices(engine),
    stages: planned,
    seconds: planned.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0),
    isMeasured: !isShort,
    memory: await plannedMemory(run, {
      positions: Math.min(engine.contextLength, speed.promptTokens + speed.responseTokens),
      writing:
        run.writer.kind === 'engine' && writes ? left('generate', 'locate', 'sample', 'time') : left('time'),
      scoring: left('score', 'time'),
    }),
    wrong: expectedWrong(run),
    speed,
    sizes,
    rollouts,
  };
}

/** Whether what writes the responses goes on with them, too: its speed is measured. */
const completesAsWriter = ({ writer, completer, settings }: Run): boolean =>
  settings.label?.by === 'rollouts' &&
  completer?.kind === writer.kind &&
  settings.label.completer === (settings.writer?.by === 'upstream' ? settings.writer.model : null);

function plannedStage(
  run: Run,
  work: StageWork,
  { speed, sizes, rollouts }: Pick<Plan, 'speed' | 'sizes' | 'rollouts'>,
): PlannedStage {
  const { responseTokens, written, score } = speed;
  const response = written === null ? 0 : responseTokens / written;
  const seconds: Readonly<Record<StageWork['stage'], number>> = {
    generate: run.problems[0]?.given ? 0 : work.expected * response,
    check: 0,
    locate: 0,
    claims: 0,
    graph: 0,
    sample: work.expected * response,
    score: work.expected * (score ?? 0),
    // The first one twice, for its sessions are opened.
    time:
      work.expected === 0
        ? 0
        : (work.expected + 1) * ((1 + samplesNeeded(run.measures)) * response + (score ?? 0)),
  };
  const judged = asksJudge(run, work.stage);
  if (work.stage === 'locate' && rollouts) {
    const completions = Math.round(work.expected * rollouts.completions);
    const tokens = Math.round(work.expected * rollouts.tokens);
    const time = tokens === 0 ? 0 : written !== null && completesAsWriter(run) ? tokens / written : null;
    return { ...work, judged, seconds: time, requests: null, rollouts: { completions, tokens } };
  }
  if (!judged) return { ...work, judged, seconds: seconds[work.stage], requests: null, rollouts: null };
  const requests = Math.round(work.expected * requestsEach(work.stage, run, sizes));
  return { ...work, judged, seconds: null, requests, rollouts: null };
}

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
  isMeasured,
  memory,
  wrong,
  speed,
  sizes,
  rollouts,
}: Plan): string {
  const rows = stages.map((stage) => [stage.stage, formatWork(stage), timeOf(stage)]);
  const widths = [0, 1].map((column) => Math.max(0, ...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    `  ${row[0]!.padEnd(widths[0]!)}  ${row[1]!.padEnd(widths[1]!)}  ${row[2]}`.trimEnd(),
  );
  const untimed = [
    ...(stages.some(({ judged }) => judged) ? ['the judge'] : []),
    ...(stages.some((stage) => stage.rollouts && stage.seconds === null) ? ['the completions'] : []),
  ];
  const without = untimed.length > 0 ? `, without ${untimed.join(' and ')}` : '';
  const rates = [
    ...(speed.written === null ? [] : [`${perSecond(speed.written)} tokens a second written`]),
    ...(speed.score === null
      ? []
      : [
          `${speed.score < 0.1 ? `${(1000 * speed.score).toFixed(0)} ms` : formatDuration(speed.score)} to score a response`,
        ]),
  ];
  const asks = (name: StageName): boolean =>
    stages.some(({ stage, judged, expected }) => stage === name && judged && expected > 0);
  const guesses = [
    ...(stages.some(({ least, most }) => least < most)
      ? [`${Math.round(100 * wrong)} % of the answers are wrong`]
      : []),
    ...(rates.length === 0 || speed.lengthKnown ? [] : [`a response has ${speed.responseTokens} tokens`]),
    ...(asks('claims') && !sizes.known.claims
      ? [`a response has ${Math.round(sizes.sentences)} sentences and ${Math.round(sizes.claims)} claims`]
      : []),
    ...(rollouts && !rollouts.known && stages.some((stage) => stage.rollouts?.completions)
      ? [
          `a label takes ${Math.round(rollouts.completions)} completions of ${Math.round(rollouts.tokens / rollouts.completions)} tokens`,
        ]
      : []),
    ...(asks('graph') && !sizes.known.graph ? [`a graph has ${Math.round(sizes.graphClaims)} claims`] : []),
  ];
  return [
    `plan: ${problems} problems of ${suite}, ${model} on ${device}`,
    ...(lines.length > 0 ? lines : ['  nothing is left to do']),
    `  ${isMeasured ? `about ${formatDuration(seconds)}${without}, ` : ''}${formatBytes(memory)} of memory`,
    ...(rates.length > 0 ? [`  measured: ${rates.join(', ')}`] : []),
    ...(guesses.length > 0 ? [`  supposed: ${guesses.join(', ')}`] : []),
  ].join('\n');
}

/** Work of a stage, in words. */
export function formatWork({ stage, done, least, most, expected }: StageWork): string {
  const range = least === most ? '' : ` (${least} to ${most})`;
  return `${expected} ${WORDS[stage]}${range}${done > 0 ? `, ${done} done` : ''}`;
}

function timeOf({ seconds, requests, rollouts }: PlannedStage): string {
  if (requests !== null) return requests === 0 ? '' : `asks the judge ${requests} times`;
  if (rollouts?.completions) {
    const time = seconds === null ? '' : `, ${formatDuration(seconds)}`;
    return `draws ${rollouts.completions} completions, ${rollouts.tokens} tokens${time}`;
  }
  return seconds === null || seconds === 0 ? '' : formatDuration(seconds);
}

const perSecond = (rate: number): string => (rate < 10 ? rate.toPrecision(2) : rate.toFixed(0));
