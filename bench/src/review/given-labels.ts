import { UsageError, visibleLine } from 'flinch/internals';
import { z } from 'zod';
import type { CheckRecord } from '../records/records.js';
import { labelSchema } from '../suites/own/label-words.js';
import { LABELLED_BY, type Row, readRows } from '../suites/own/question-rows.js';

/** A label that somebody has given to an answer. */
export interface GivenLabel {
  readonly id: string;
  /** `null`: unsure. */
  readonly correct: boolean | null;
  /** The answer that it is of; `null` where the file does not say. */
  readonly response: string | null;
  /** Whose label it was when the file was exported; `null` for a file of labels alone, which are all of people. */
  readonly by: string | null;
  /** File and line. */
  readonly place: string;
}

const textSchema = z.union([z.string(), z.number()]).transform(String);

/**
 * Labels of a file with the columns `id`, and `label` or `right`: what answers.html saves, or answers.csv, in any format of
 * questions. Rows with an empty label are left out.
 * @throws UsageError that names the line of what does not fit, or of a label that contradicts another
 */
export async function readLabels(file: string): Promise<GivenLabel[]> {
  const labels = (await readRows(file, '--labels')).flatMap(labelOf);
  const first = new Map<string, GivenLabel>();
  for (const label of labels) {
    const other = first.get(label.id);
    if (other && other.correct !== label.correct)
      throw new UsageError(
        `--labels: ${label.place}: ${JSON.stringify(label.id)} has another label than at ${other.place}`,
      );
    first.set(label.id, other ?? label);
  }
  if (first.size === 0) throw new UsageError(`--labels: ${file}: has no labels`);
  return [...first.values()];
}

function labelOf({ values, place }: Row): GivenLabel[] {
  const cell = (name: string): unknown => (values[name] === '' ? undefined : (values[name] ?? undefined));
  const read = <T>(name: string, schema: z.ZodType<T>): T => {
    const { success, data, error } = schema.safeParse(cell(name));
    if (success) return data;
    throw new UsageError(visibleLine(`--labels: ${place}: ${name}: ${error.issues[0]?.message}`));
  };
  const name = cell('label') === undefined ? 'right' : 'label';
  const id = read('id', textSchema);
  if (!('label' in values) && !('right' in values))
    throw new UsageError(`--labels: ${place}: label: is missing`);
  if (cell(name) === undefined) return [];
  return [
    {
      id,
      correct: read(name, labelSchema),
      response: read('response', textSchema.optional()) ?? null,
      by: read(LABELLED_BY, textSchema.optional()) ?? null,
      place,
    },
  ];
}

/** What becomes of labels. */
export interface Mended {
  /** Checks that differ from those of the run. */
  readonly checks: readonly CheckRecord[];
  /** Labels of answers that the run does not have, and of other answers to its questions. */
  readonly unknown: readonly GivenLabel[];
  readonly others: readonly GivenLabel[];
}

/**
 * Labels of people go before those of a check. In an exported file, those that nobody has changed stay whose they are.
 * @param textOf the response of the run
 */
export function mend(
  labels: readonly GivenLabel[],
  checks: Pick<ReadonlyMap<string, CheckRecord>, 'get'>,
  textOf: (id: string) => string | null,
): Mended {
  const unknown: GivenLabel[] = [];
  const others: GivenLabel[] = [];
  const mended = labels.flatMap((label): CheckRecord[] => {
    const { id, correct, response, by } = label;
    const [check, text] = [checks.get(id), textOf(id)];
    if (!check || text === null) unknown.push(label);
    else if (response !== null && plain(response) !== plain(text)) others.push(label);
    else if (correct !== check.correct || (by === null && check.by !== 'people'))
      return [{ ...check, correct, by: 'people' }];
    return [];
  });
  return { checks: mended, unknown, others };
}

/** Line ends, and white space around it, are what programs change of a text. */
const plain = (text: string): string => text.replaceAll(/\r\n?/g, '\n').trim();
