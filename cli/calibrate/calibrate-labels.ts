import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { UsageError } from '../../src/files/file-errors.js';
import { parseJsonLines } from '../../src/files/json-text.js';
import { checkLabels, type LabelCheck, type LabelledAnswer, type Share } from '../../src/risk/label-check.js';
import { optionFile } from '../option-file.js';
import { remark, say } from '../terminal.js';
import { formatTable } from '../terminal-format.js';

export interface LabelsOptions {
  readonly labels: string;
  readonly answers: string;
  readonly json?: boolean;
}

const RIGHT = ['right', 'correct', 1] as const;
const WRONG = ['wrong', 'incorrect', 0] as const;

/** Whether somebody has found an answer right. */
const label = z.object({
  id: z.string(),
  label: z
    .literal([...RIGHT, ...WRONG], { error: `must be one of ${[...RIGHT, ...WRONG].join(', ')}` })
    .transform((word) => RIGHT.some((each) => each === word)),
});

/** A message to a webhook; others than verdicts are left out. */
const message = z.union([
  z.object({ type: z.literal('flag') }),
  z.object({
    type: z.literal('verdict'),
    data: z.object({
      response_id: z.string(),
      verdict: z.object({ flagged: z.boolean().nullable(), risk: z.number().nullable() }).nullable(),
    }),
  }),
]);

/** Labels that cannot be used. */
interface LabelProblems {
  /** Labels of answers that were not recorded. */
  readonly unknown: readonly string[];
  /** Ids with contradicting labels, which do not count. */
  readonly contradicting: readonly string[];
  /** Labels that say the same again. */
  readonly duplicates: number;
}

/** Compares recorded verdicts with labels of people; nothing is written by a model, or into a calibration. */
export async function compareLabels({ labels, answers, json }: LabelsOptions): Promise<void> {
  const given = await readLines('--labels', labels, label);
  const recorded = await readLines('--answers', answers, message);
  const { labelled, problems } = joinLabels(given, recorded);
  for (const warning of warningsOf(problems)) remark(warning);
  if (labelled.length === 0) throw new UsageError('--labels: no recorded answer has a label');
  const check = checkLabels(labelled);
  say(json ? `${JSON.stringify({ ...check, ...problems })}\n` : `${formatCheck(check)}\n`);
}

const readLines = async <T>(option: string, file: string, schema: z.ZodType<T>): Promise<T[]> =>
  parseJsonLines(await optionFile(option, file, readFile(file, 'utf8')), schema, `${option}: ${file}`);

/** Finds the recorded answer of each label. */
export function joinLabels(
  labels: readonly z.output<typeof label>[],
  messages: readonly z.output<typeof message>[],
): { readonly labelled: readonly LabelledAnswer[]; readonly problems: LabelProblems } {
  const verdicts = new Map(
    messages.flatMap((each) =>
      each.type === 'verdict' ? [[each.data.response_id, each.data.verdict] as const] : [],
    ),
  );
  const said = new Map<string, Set<boolean>>();
  let duplicates = 0;
  for (const { id, label: right } of labels) {
    const before = said.get(id) ?? new Set();
    if (before.has(right) && verdicts.has(id)) duplicates += 1;
    said.set(id, before.add(right));
  }
  const known = [...said].filter(([id]) => verdicts.has(id));
  const labelled = known.flatMap(([id, rights]): LabelledAnswer[] => {
    const { flagged = null, risk = null } = verdicts.get(id) ?? {};
    const [right] = rights;
    return right === undefined || rights.size > 1 ? [] : [{ right, flagged, risk }];
  });
  const problems = {
    unknown: [...said.keys()].filter((id) => !verdicts.has(id)),
    contradicting: known.flatMap(([id, rights]) => (rights.size > 1 ? [id] : [])),
    duplicates,
  };
  return { labelled, problems };
}

/** Ids that a message names; the others it counts. */
const NAMED = 5;

function warningsOf({ unknown, contradicting, duplicates }: LabelProblems): string[] {
  const list = (ids: readonly string[]): string => {
    const more = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : '';
    return `${ids.slice(0, NAMED).join(', ')}${more}`;
  };
  return [
    ...(unknown.length > 0 ? [`labels of answers that are not recorded: ${list(unknown)}`] : []),
    ...(contradicting.length > 0
      ? [`labels that contradict each other, which do not count: ${list(contradicting)}`]
      : []),
    ...(duplicates > 0 ? [`labels that were given twice: ${duplicates}`] : []),
  ];
}

function formatCheck({ right, wrong, unscored, rows }: LabelCheck): string {
  const show = ({ count, of, low, high }: Share): string =>
    of === 0 ? 'none' : `${count}/${of} [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}] %`;
  return [
    `${wrong} wrong and ${right} right answers; of these, ${unscored.wrong} and ${unscored.right} without a verdict are left out.`,
    'Shares with 95 % intervals:',
    formatTable([
      ['rate', 'wrong ones flagged', 'right ones flagged', 'flagged ones wrong'],
      ...rows.map(({ rate, found, falseAlarms, precision }) => [
        rate === null ? 'as it was' : `${100 * rate} %`,
        ...[found, falseAlarms, precision].map(show),
      ]),
    ]),
  ].join('\n');
}
