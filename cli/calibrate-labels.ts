import { readFile } from 'node:fs/promises';
import { UsageError } from '../src/files/errors.js';
import { checkLabels, type LabelCheck, type LabelledAnswer, type Share } from '../src/risk/label-check.js';
import { formatTable } from './calibrate-report.js';
import { type Label, type RecordedAnswer, readAnswers, readLabels } from './label-files.js';
import { optionFile } from './option-file.js';
import { remark, say } from './terminal.js';

export interface LabelsOptions {
  readonly labels: string;
  readonly answers: string;
  readonly labelName?: string;
  readonly json?: boolean;
}

/** Labels that cannot be used. */
export interface LabelProblems {
  /** Labels of answers that were not recorded. */
  readonly unknown: readonly string[];
  /** Ids with contradicting labels, which do not count. */
  readonly contradicting: readonly string[];
  /** Labels that say the same again. */
  readonly duplicates: number;
}

/** Ids that a message names; the others it counts. */
const NAMED = 5;

/** Compares recorded verdicts with labels of people; nothing is written by a model, or into a calibration. */
export async function compareLabels({ labels, answers, labelName, json }: LabelsOptions): Promise<void> {
  const read = async (option: string, file: string): Promise<string> =>
    optionFile(option, file, readFile(file, 'utf8'));
  const given = named(readLabels(await read('--labels', labels), labels), labelName);
  const recorded = readAnswers(await read('--answers', answers), answers);
  const { labelled, problems } = joinLabels(given, recorded);
  for (const warning of warningsOf(problems)) remark(warning);
  if (labelled.length === 0) throw new UsageError('--labels: no recorded answer has a label');
  const check = checkLabels(labelled);
  say(json ? `${JSON.stringify({ ...check, ...problems })}\n` : `${formatCheck(check)}\n`);
}

/** @throws UsageError where it is not clear which labels are meant */
function named(labels: readonly Label[], name: string | undefined): Label[] {
  const names = [...new Set(labels.flatMap((label) => label.name ?? []))];
  const all = names.map((each) => JSON.stringify(each)).join(', ');
  if (name === undefined && names.length > 1)
    throw new UsageError(`--label-name: one of ${all} is required: the file has all of them`);
  if (name !== undefined && !names.includes(name))
    throw new UsageError(`--label-name: the file has no labels "${name}", but ${all || 'none with a name'}`);
  return labels.filter((label) => name === undefined || label.name === name);
}

/** Finds the recorded answer of each label. */
export function joinLabels(labels: readonly Label[], recorded: readonly RecordedAnswer[]) {
  const answers = new Map(recorded.flatMap((answer) => answer.ids.map((id) => [id, answer] as const)));
  const said = new Map<RecordedAnswer, Set<boolean>>();
  const unknown = new Set<string>();
  let duplicates = 0;
  for (const { id, right } of labels) {
    const answer = answers.get(id);
    if (!answer) {
      unknown.add(id);
      continue;
    }
    const before = said.get(answer) ?? new Set();
    if (before.has(right)) duplicates += 1;
    said.set(answer, before.add(right));
  }
  const contradicting = [...said]
    .filter(([, rights]) => rights.size > 1)
    .map(([{ ids }]) => ids.at(-1) ?? '');
  const labelled = [...said].flatMap(([{ flagged, risk }, rights]): LabelledAnswer[] => {
    const [right] = rights;
    return right === undefined || rights.size > 1 ? [] : [{ right, flagged, risk }];
  });
  const problems: LabelProblems = { unknown: [...unknown], contradicting, duplicates };
  return { labelled, problems };
}

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
