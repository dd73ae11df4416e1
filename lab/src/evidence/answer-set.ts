import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { casesOfRun } from '#bench/run/evaluate-run.js';
import { peekRecords, readRun, readScores } from '#bench/run/run-folder.js';
import { UsageError } from '#src/files/file-errors.js';
import { parseJsonLines } from '#src/files/json-text.js';
import { contentOf } from '#src/risk/step-score.js';

/** An answer up to its first wrong step: what follows an error is neither right nor wrong of itself. */
const answerSchema = z.strictObject({
  id: z.string(),
  /** The last step is the first wrong one. */
  wrong: z.boolean(),
  /** The token after each step. */
  ends: z.array(z.int()).min(1),
  /** Of each token whether it is a number or a sign (1, or = if it has an equals sign), or a name (2): see `contentOf`. */
  content: z.string().regex(/^[012=]+$/),
  /** By measure: a score of each token, to two digits. */
  scores: z.record(z.string(), z.array(z.number())),
});
export type Answer = z.output<typeof answerSchema>;

export interface AnswerSet {
  readonly name: string;
  readonly answers: readonly Answer[];
}

export const EXTENSION = '.jsonl.gz';

/** A file of {@link packAnswers}; its name is that of the set. @throws UsageError that names the line and the field */
export function readAnswers(file: string): AnswerSet {
  const text = gunzipSync(readFileSync(file)).toString();
  const answers = parseJsonLines(text, answerSchema, file);
  const odd = answers.find(({ ends, content, scores }) =>
    [content, ...Object.values(scores)].some(({ length }) => length !== ends.at(-1)),
  );
  if (odd) throw new UsageError(`${file}: ${odd.id}: has not one score for each token`);
  return { name: basename(file, EXTENSION), answers };
}

export const packAnswers = ({ answers }: AnswerSet): Buffer =>
  gzipSync(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''), { level: 9 });

/**
 * The answers of a run of `flinch bench run` that are scored so far, right ones among them, under the name of the run's folder.
 * Left out are those that were cut off, and wrong ones whose first wrong step is not known.
 * @throws UsageError for another folder
 */
export async function collectAnswers(folder: string): Promise<AnswerSet> {
  const { settings } = await readRun(folder);
  if (settings.score === 'wrong')
    throw new UsageError(`${folder}: has scores of wrong responses alone (--score wrong)`);
  const cases = new Map((await casesOfRun(folder)).map((one) => [one.id, one]));
  const { responses } = await peekRecords(folder);
  const answers: Answer[] = [];
  for await (const { id, steps, tokens } of readScores(folder)) {
    const known = cases.get(id);
    if (!known || !(known.correct || known.firstWrong !== null)) continue;
    const ends = steps.slice(0, (known.firstWrong ?? steps.length) + 1).map(([, end]) => end);
    const length = ends.at(-1) ?? 0;
    if (length === 0) continue;
    const texts = responses.get(id)!.tokenTexts.slice(0, length);
    const scores = Object.entries(tokens).map(([measure, of]) => [measure, of.slice(0, length).map(rounded)]);
    answers.push({
      ...{ id, wrong: !known.correct, ends },
      content: contentIn(texts),
      scores: Object.fromEntries(scores),
    });
  }
  return { name: basename(resolve(folder)), answers };
}

const contentIn = (texts: readonly string[]): string =>
  texts
    .map((text, i) => {
      if (text.includes('=')) return '=';
      const content = contentOf(text, texts[i - 1] ?? '');
      return content === null ? 0 : content === 'number' ? 1 : 2;
    })
    .join('');

/** A token that was skipped has nothing doubtful in it. */
const rounded = (score: number | null): number => Number((score ?? 0).toPrecision(2));
