import { median } from 'simple-statistics';
import { table, thisMachine } from '#bench/markdown-table.js';
import { DEFAULT_BLOCK } from '#src/uncertainty/settings.js';
import type { AnswerSpeed } from './answer-times.js';
import type { Contestant, OpenContestant, Work } from './contestant.js';
import { memoryOf, processTree } from './process-tree.js';

/** Written before an answer that counts: more than a block of scores, so that all passes are set up. */
const WARM_UP_TOKENS = DEFAULT_BLOCK + 8;

/** A contestant with a number for each round. */
export interface Row {
  readonly name: string;
  readonly firstSeconds: readonly number[];
  readonly tokensPerSecond: readonly number[];
  /** Times as fast as the reference in the same round. */
  readonly ratios: readonly number[];
  /** Memory of all processes of the program after the answer. */
  readonly memoryBytes: readonly number[];
}

interface MeasureOptions {
  readonly work: Work;
  readonly rounds: number;
  /** Name of the contestant that the others are compared with. */
  readonly reference: string;
  /** Called before each turn of a contestant. */
  readonly onTurn: () => void;
}

type Turn = AnswerSpeed & { readonly memoryBytes: number | null };

/** Opens one contestant after the other, round after round, so that each is alone on the machine. */
export async function measurePeers(
  contestants: readonly Contestant[],
  { work, rounds, reference, onTurn }: MeasureOptions,
): Promise<Row[]> {
  const turns = contestants.map((): Turn[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      onTurn();
      const open = await contestant.open();
      try {
        turns[i]!.push(await turn(open, work));
      } finally {
        await open.close();
      }
    }
  }
  const compared = turns[contestants.findIndex(({ name }) => name === reference)]!;
  return contestants.map(({ name }, i) => ({
    name,
    firstSeconds: turns[i]!.map(({ firstSeconds }) => firstSeconds),
    tokensPerSecond: turns[i]!.map(({ tokensPerSecond }) => tokensPerSecond),
    ratios: turns[i]!.map(({ tokensPerSecond }, round) => tokensPerSecond / compared[round]!.tokensPerSecond),
    memoryBytes: turns[i]!.flatMap(({ memoryBytes }) => memoryBytes ?? []),
  }));
}

async function turn(open: OpenContestant, work: Work): Promise<Turn> {
  await open.run({ ...work, tokens: Math.min(WARM_UP_TOKENS, work.tokens) });
  const speed = await open.run(work);
  return { ...speed, memoryBytes: await memoryOf(await processTree(open.pid)) };
}

/** The rule of what is measured. */
const RULE = `- first: seconds from the request until the first token (the prompt, mostly)
- tokens/s: from the second token to the last, or to the last score where tokens are scored
- ratio: tokens/s, times as fast as the reference in the same round
- memory: PSS of all processes of the program, added up, after the answer
Each program is alone on the machine, is started anew in each round, and has answered shortly before.`;

/** A table of Markdown: median (least–most). */
export function formatPeersSpeed(model: string, rows: readonly Row[], { work, reference }: MeasureOptions) {
  const { cpu, cores, node } = thisMachine();
  const cells = rows.map(({ name, firstSeconds, tokensPerSecond, ratios, memoryBytes }) => [
    name,
    spread(firstSeconds, 2),
    spread(tokensPerSecond, 1),
    spread(ratios, 2),
    memoryBytes.length > 0 ? (median([...memoryBytes]) / 1e6).toFixed(0) : 'n/a',
  ]);
  return [
    `${model}: ${work.tokens} tokens after a prompt of ${work.prompt.length}; ratio to ${reference}; ${cpu}, ${cores} cores, Node ${node}`,
    RULE,
    table(['', 'first, s', 'tokens/s', 'ratio', 'memory, MB'], cells),
  ].join('\n\n');
}

function spread(values: readonly number[], digits: number): string {
  const [middle, least, most] = [median([...values]), Math.min(...values), Math.max(...values)];
  return `${middle.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`;
}
