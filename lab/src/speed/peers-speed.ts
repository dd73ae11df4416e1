import { median } from 'simple-statistics';
import { type Machine, table, thisMachine } from '#bench/markdown-table.js';
import type { Contestant, Work } from './contestant.js';
import type { Job } from './speed-models.js';

/** Ids of whole words, so that no server treats any of them as special; all models have them. */
const [FIRST_ID, LAST_ID] = [1000, 8000];
/** Tokens of the round that is not counted. */
const WARM_UP_TOKENS = 8;
/** Written or scored after a prompt, of which the first is waited for. */
const AFTER_PROMPT = 32;

interface Result {
  /** Index of one of the report's jobs. */
  readonly job: number;
  /** Seconds until the first token or score, or tokens of all streams per second; one number for each round. */
  readonly values: readonly number[];
  /** How many times as fast as the reference in the same round. */
  readonly ratios: readonly number[];
}

interface Row {
  readonly name: string;
  readonly reference: string;
  readonly memoryBytes: number | null;
  readonly results: readonly Result[];
}

export interface PeersSpeed {
  readonly model: string;
  readonly machine: Machine;
  readonly tokens: number;
  readonly rounds: number;
  readonly jobs: readonly Job[];
  readonly rows: readonly Row[];
}

export interface MeasureOptions {
  readonly model: string;
  readonly jobs: readonly Job[];
  readonly tokens: number;
  readonly rounds: number;
  /** Called after each turn, also of those that leave it out. */
  readonly onTurn: () => void;
}

/**
 * Runs all contestants in turn, round after round, while the others are stopped. The first round is short and
 * not counted.
 */
export async function measurePeers(
  contestants: readonly Contestant[],
  { model, jobs, tokens, rounds, onTurn }: MeasureOptions,
): Promise<PeersSpeed> {
  const seconds = new Map<string, number[]>();
  const memory = new Map<string, number | null>();
  const key = (name: string, job: number): string => `${job} ${name}`;
  for (let round = 0; round <= rounds; round++) {
    for (const [index, job] of jobs.entries()) {
      const work = workOf(job, round, tokens);
      for (const contestant of contestants) {
        const { name } = contestant;
        onTurn();
        if (!contestant.does(work)) continue;
        const taken = await inTurn(contestant, work);
        if (round > 0) seconds.set(key(name, index), [...(seconds.get(key(name, index)) ?? []), taken]);
        memory.set(name, await contestant.memory());
      }
    }
  }
  const first = contestants[0]!.name;
  const rows = contestants.map(({ name, reference = first }): Row => {
    const results = jobs.flatMap(({ streams, first: firstAlone }, job): Result[] => {
      const own = seconds.get(key(name, job));
      const others = seconds.get(key(reference, job));
      if (!own || !others) return [];
      const values = firstAlone ? own : own.map((taken) => (streams * tokens) / taken);
      return [{ job, values, ratios: own.map((taken, i) => others[i]! / taken) }];
    });
    return { name, reference, memoryBytes: memory.get(name) ?? null, results };
  });
  return { model, machine: thisMachine(), tokens, rounds, jobs, rows };
}

async function inTurn(contestant: Contestant, work: Work): Promise<number> {
  contestant.turn(true);
  try {
    const start = performance.now();
    await contestant.run(work);
    return (performance.now() - start) / 1000;
  } finally {
    contestant.turn(false);
  }
}

/** Work with other prompts in each round and stream, which are in no cache. */
function workOf({ streams, promptTokens, first }: Job, round: number, tokens: number): Work {
  const written = first ? AFTER_PROMPT : round === 0 ? WARM_UP_TOKENS : tokens;
  const id = (i: number): number => FIRST_ID + ((i * 7919) % (LAST_ID - FIRST_ID));
  const prompts = Array.from({ length: streams }, (_, stream) =>
    Array.from({ length: promptTokens }, (_, i) => id((round * 100 + streams + stream) * promptTokens + i)),
  );
  return { prompts, tokens: written, first };
}

/** The report as a table of Markdown. */
export function formatPeersSpeed({ model, machine, tokens, rounds, jobs, rows }: PeersSpeed): string {
  const spread = (values: readonly number[], digits: number): string =>
    `${median([...values]).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;
  const header = jobs.flatMap(({ streams, promptTokens, first }) => [
    first ? `first after ${promptTokens}, s` : `tokens/s, ${streams} stream${streams > 1 ? 's' : ''}`,
    'ratio',
  ]);
  const cells = (result: Result | undefined): string[] =>
    result ? [spread(result.values, 1), spread(result.ratios, 2)] : ['', ''];
  return [
    `${model} · ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`,
    `${tokens} tokens after a prompt of ${jobs[0]!.promptTokens}, from request to last token; first token (with scores: first score) after a long prompt; median (least–most) of ${rounds} interleaved rounds; ratios: times as fast as ${referencesOf(rows)}`,
    '',
    table(
      ['', 'memory, MB', ...header],
      rows.map(({ name, memoryBytes, results }) => [
        name,
        memoryBytes === null ? 'n/a' : (memoryBytes / 1e6).toFixed(0),
        ...jobs.flatMap((_, job) => cells(results.find((result) => result.job === job))),
      ]),
    ),
  ].join('\n');
}

/** References of the rows: their own ratio is 1. */
const referencesOf = (rows: readonly Row[]): string =>
  [...new Set(rows.map(({ reference }) => reference))].join(', ');
