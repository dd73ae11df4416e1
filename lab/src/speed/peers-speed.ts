import { median } from 'simple-statistics';
import { type Machine, table } from '#bench/markdown-table.js';
import { DEFAULT_BLOCK } from '#src/uncertainty/settings.js';
import { type Contestant, type Measured, memoryOf, type OpenContestant, type Work } from './contestant.js';
import { processTree } from './process-tree.js';

/** Written before an answer that counts: more than a block of scores, so that all passes are set up. */
const WARM_UP_TOKENS = DEFAULT_BLOCK + 8;

/** Work that all contestants do in turn. */
export interface Job {
  readonly streams: number;
  readonly promptTokens: number;
  /** Prompts of a round, one for each stream. */
  readonly prompts: (round: number) => readonly (readonly number[])[];
}

interface Result extends Pick<Job, 'streams' | 'promptTokens'> {
  /** One number for each round; none where nothing is written. */
  readonly firstSeconds: readonly number[];
  readonly tokensPerSecond: readonly number[];
  /** Memory of all processes of the program after the answer. */
  readonly memoryBytes: readonly number[];
  /** How many times as fast as the reference in the same round. */
  readonly ratios: readonly number[];
}

interface Row {
  readonly name: string;
  readonly reference: string;
  readonly results: readonly Result[];
}

/** The measurements of one model. */
export interface ModelSpeed {
  readonly model: string;
  readonly rows: readonly Row[];
}

export interface PeersSpeed {
  readonly machine: Machine;
  readonly tokens: number;
  readonly rounds: number;
  readonly models: readonly ModelSpeed[];
}

export interface MeasureOptions {
  readonly model: string;
  readonly jobs: readonly Job[];
  readonly tokens: number;
  readonly rounds: number;
  /** Called before each turn of a contestant. */
  readonly onTurn: () => void;
}

interface Turn extends Measured {
  readonly memoryBytes: number | null;
}

/** Opens one contestant after the other, round after round, so that each is alone on the machine. */
export async function measurePeers(
  contestants: readonly Contestant[],
  { model, jobs, tokens, rounds, onTurn }: MeasureOptions,
): Promise<ModelSpeed> {
  /** Turns by contestant and job, one for each round. */
  const turns = contestants.map(() => jobs.map((): Turn[] => []));
  for (let round = 1; round <= rounds; round++) {
    for (const [index, contestant] of contestants.entries()) {
      onTurn();
      const open = await contestant.open();
      try {
        for (const [j, job] of jobs.entries()) {
          const work = workOf(job, round, tokens);
          if (contestant.does(work)) turns[index]![j]!.push(await turn(open, work, job.prompts(0)));
        }
      } finally {
        await open.close();
      }
    }
  }
  const indexOf = new Map(contestants.map(({ name }, index) => [name, index]));
  const rows = contestants.map(({ name, reference = contestants[0]!.name }, index): Row => {
    const results = jobs.flatMap((job, j): Result[] => {
      const own = turns[index]![j]!;
      const others = turns[indexOf.get(reference) ?? index]![j]!;
      return own.length > 0 && others.length > 0 ? [resultOf(job, own, others)] : [];
    });
    return { name, reference, results };
  });
  return { model, rows };
}

async function turn(open: OpenContestant, work: Work, others: Work['prompts']): Promise<Turn> {
  await open.run({ ...work, prompts: others, tokens: Math.min(WARM_UP_TOKENS, work.tokens) });
  const measured = await open.run(work);
  return { ...measured, memoryBytes: await memoryOf(await processTree(open.pid)) };
}

const workOf = ({ promptTokens, prompts }: Job, round: number, tokens: number): Work => ({
  prompts: prompts(round),
  tokens,
  positions: promptTokens + tokens,
});

const resultOf = ({ streams, promptTokens }: Job, own: readonly Turn[], others: readonly Turn[]): Result => ({
  streams,
  promptTokens,
  firstSeconds: own.flatMap(({ firstSeconds }) => firstSeconds ?? []),
  tokensPerSecond: own.map(({ tokensPerSecond }) => tokensPerSecond),
  memoryBytes: own.flatMap(({ memoryBytes }) => memoryBytes ?? []),
  ratios: own.map(({ tokensPerSecond }, i) => tokensPerSecond / others[i]!.tokensPerSecond),
});

/** The rule of what is measured. */
const RULE = [
  'first: seconds from the request until each stream has its first token (the prompt, mostly)',
  'tokens/s: from the second token to the last, of scored streams to the last score; all streams together',
  'memory: PSS of all processes of the program, added up, after the answer',
  'ratio: tokens/s, times as fast as the reference in the same round',
  'Each program is alone on the machine, is started anew in each round, and has answered shortly before.',
].join('\n');

/** The report as tables of Markdown. */
export function formatPeersSpeed({ machine, tokens, rounds, models }: PeersSpeed): string {
  return [
    `${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`,
    `${tokens} tokens for each stream; median (least–most) of ${rounds} interleaved rounds`,
    RULE,
    ...models.flatMap(({ model, rows }) => jobsOf(rows).map((job) => formatJob(model, rows, job))),
  ].join('\n\n');
}

type Shape = Pick<Result, 'streams' | 'promptTokens'>;

/** Each job once. */
const jobsOf = (rows: readonly Row[]): Shape[] => [
  ...new Map(
    rows.flatMap(({ results }) => results).map((result) => [JSON.stringify(shapeOf(result)), result]),
  ).values(),
];
const shapeOf = ({ streams, promptTokens }: Shape): Shape => ({ streams, promptTokens });

function formatJob(model: string, rows: readonly Row[], { streams, promptTokens }: Shape): string {
  const references = new Set<string>();
  const cells = rows.flatMap(({ name, reference, results }): string[][] => {
    const found = results.find(
      (result) => result.streams === streams && result.promptTokens === promptTokens,
    );
    if (!found) return [];
    const { firstSeconds, tokensPerSecond, ratios, memoryBytes } = found;
    references.add(reference);
    const speeds = [spread(firstSeconds, 2), spread(tokensPerSecond, 2), spread(ratios, 2)];
    return [[name, ...speeds, memoryBytes.length > 0 ? megabytes(memoryBytes) : 'n/a']];
  });
  return [
    `${model}, ${streams} stream${streams > 1 ? 's' : ''}, prompt of ${promptTokens} tokens; ratio to ${[...references].join('; ')}`,
    '',
    table(['', 'first, s', 'tokens/s', 'ratio', 'memory, MB'], cells),
  ].join('\n');
}

const megabytes = (bytes: readonly number[]): string => (median([...bytes]) / 1e6).toFixed(0);

const spread = (values: readonly number[], digits: number): string =>
  values.length === 0
    ? ''
    : `${median([...values]).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;
