import type { ChatMessage } from 'flinch';
import {
  type AnswerKey,
  isRecord,
  kindOf,
  linearRegex,
  reasonOf,
  UsageError,
  visibleLine,
} from 'flinch/internals';
import { z } from 'zod';
import { GIVEN_SEPARATOR } from '../../steps/response-steps.js';
import { refuseRepeated } from '../data-files.js';
import type { BenchProblem, GivenResponse } from '../suite.js';
import { isCheck, kindRead, plain } from './answer-checks.js';
import { CHECKS } from './checks.js';
import { labelSchema } from './label-words.js';
import type { Row } from './question-rows.js';
import { COLUMNS, type Column, type Task, type TaskSettings } from './task.js';

/** Faulty rows that an error names. */
const NAMED = 5;
/** Several values in one cell of a table. */
const BETWEEN = '|';
/** The check reads the letters A to R. */
const MOST_CHOICES = 18;
/** Scope of tables with everything in them. */
const ALL = 'all';

const textSchema = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const messagesSchema = z
  .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string().min(1) }))
  .min(1)
  .refine((messages) => messages.at(-1)?.role === 'user', 'must end with a message of the user');

/** A list, several values in a cell with | between, or `{"text": [...], "label": [...]}`, as ARC has them. */
const choicesSchema = z.preprocess(
  (value) => {
    if (typeof value === 'string') return { text: split(value) };
    return isRecord(value) ? value : { text: value };
  },
  z
    .object({
      text: z.array(textSchema).min(2).max(MOST_CHOICES),
      label: z.array(textSchema).exactOptional(),
    })
    .refine(({ text, label }) => !label || label.length === text.length, 'has not a label for each text'),
);
const partSchema = textSchema.transform((text) => text.trim()).pipe(z.string().min(1, 'has an empty part'));
const answersSchema = z.union([partSchema.transform((text) => [text]), z.array(partSchema).min(1)]);
/** In a table JSON, as it is in JSON Lines. */
const inJson = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value, context) => {
    if (typeof value !== 'string') return value;
    try {
      return JSON.parse(value);
    } catch {
      context.addIssue('must be a list, in JSON');
      return z.NEVER;
    }
  }, schema);

const listSchema = inJson(z.array(z.string()).min(1));

const SCHEMAS = {
  id: textSchema,
  group: textSchema,
  question: z.string().trim().min(1),
  messages: inJson(messagesSchema),
  context: z.string(),
  choices: choicesSchema,
  answer: answersSchema,
  check: z.enum(CHECKS),
  response: z.string().min(1),
  steps: inJson(z.array(z.string().min(1)).min(1)),
  right: labelSchema,
  first_wrong: z
    .union([
      z.number(),
      z
        .string()
        .trim()
        .regex(/^-?\d+(\.0+)?$/, 'must be a whole number')
        .transform(Number),
    ])
    .pipe(z.int().min(-1)),
} satisfies Record<Column, z.ZodType>;
type Values = { readonly [C in Column]?: z.output<(typeof SCHEMAS)[C]> };

/** All questions of a file, and how they are checked. */
export interface Questions {
  readonly problems: readonly BenchProblem[];
  readonly settings: TaskSettings;
}

/**
 * @param rows of the task's file
 * @throws UsageError that names the rows that do not fit, by their lines
 */
export function questionsOf(rows: readonly Row[], task: Task): Questions {
  const { file, name, columns, prompt } = task;
  if (rows.length === 0) throw new UsageError(`--questions: ${file}: has no rows`);
  const names = namesIn(rows, task);
  const faults: string[] = [];
  const noting = <T>({ place }: Row, read: () => T): T[] => {
    try {
      return [read()];
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      faults.push(`${place}: ${error.message}`);
      return [];
    }
  };
  const read = rows.flatMap((row) =>
    noting(row, () => ({ row, values: valuesOf(row, names, task.check !== 'regex') })),
  );
  const { check } = task;
  const problems = read.flatMap(({ row, values }, i) =>
    noting(row, () => problemOf(values, values.check ?? check, `row-${i + 1}`)),
  );
  if (faults.length > 0) throw faulty(faults, rows.length);
  refuseRepeated(problems.map(({ id }, i) => ({ id, place: rows[i]!.place })));
  return { problems, settings: { name, check, prompt, columns } };
}

class RowError extends Error {}

/** Several values in a cell: as a list of texts in JSON, or with | between them. */
function split(cell: string): string[] {
  const { success, data } = listSchema.safeParse(cell);
  return success ? data : cell.split(BETWEEN).map((part) => part.trim());
}

function faulty(faults: readonly string[], rows: number): UsageError {
  const shown = faults.slice(0, NAMED).map(visibleLine);
  const more = faults.length > NAMED ? [`and ${faults.length - NAMED} others`] : [];
  return new UsageError(
    [`--questions: ${faults.length} of ${rows} rows cannot be used:`, ...shown, ...more].join('\n  '),
  );
}

/** Name in the file of each column that is there. @throws UsageError where one that is needed is not */
function namesIn(rows: readonly Row[], { file, columns }: Task): ReadonlyMap<Column, string> {
  const there = new Set(rows.flatMap(({ values }) => Object.keys(values)));
  const found = new Map<Column, string>();
  for (const column of COLUMNS) {
    const named = columns[column];
    const byCase = [...there].find((name) => name.toLowerCase() === column);
    if (named !== undefined) {
      if (!rows.some(({ values }) => at(values, named) !== undefined)) throw noColumn(file, named, there);
      found.set(column, named);
    } else if (byCase !== undefined) found.set(column, byCase);
  }
  if (!found.has('question') && !found.has('messages')) throw noColumn(file, 'question', there);
  if (!found.has('answer') && !found.has('right') && !found.has('first_wrong'))
    throw noColumn(file, 'answer', there);
  return found;
}

const noColumn = (file: string, name: string, there: ReadonlySet<string>): UsageError =>
  new UsageError(
    visibleLine(
      `--questions: ${file}: no column is named ${JSON.stringify(name)}; there are ${[...there].join(', ')}. columns in a task's YAML say which is which`,
    ),
  );

/** The value of a column; `doc.question` and `resps.0` are within others. */
function at(values: Row['values'], name: string): unknown {
  if (Object.hasOwn(values, name)) return values[name];
  return name
    .split('.')
    .reduce<unknown>(
      (value, key) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, key)
          ? (value as Record<string, unknown>)[key]
          : undefined,
      values,
    );
}

/** @param splits whether a cell may hold several answers; in a regular expression | means something else */
function valuesOf({ values, isTable }: Row, names: ReadonlyMap<Column, string>, splits: boolean): Values {
  const found: Record<string, unknown> = {};
  for (const [column, name] of names) {
    const value = at(values, name);
    // An empty cell, and `null`, say nothing.
    if (value === undefined || value === null || (typeof value === 'string' && value.trim() === '')) continue;
    const several = column === 'answer' && isTable && splits && typeof value === 'string';
    const { success, data, error } = SCHEMAS[column].safeParse(several ? split(value) : value);
    const [issue] = error?.issues ?? [];
    if (!success) throw new RowError(`${[name, ...(issue?.path ?? [])].join('.')}: ${issue?.message}`);
    found[column] = data;
  }
  // Without it, the model would answer in place of the one that was to be judged.
  if ((names.has('response') || names.has('steps')) && !('response' in found || 'steps' in found))
    throw new RowError(`${names.get('response') ?? names.get('steps')}: is empty`);
  return found;
}

function problemOf(values: Values, check: TaskSettings['check'], ownId: string): BenchProblem {
  const { id = ownId, group = 'questions', messages, context = null, choices = null } = values;
  const question = values.question ?? messages?.at(-1)?.content;
  if (question === undefined) throw new RowError('question: is missing');
  if (values.question !== undefined && messages && values.question !== messages.at(-1)?.content.trim())
    throw new RowError('question: is not the last of the messages');
  if (group === ALL) throw new RowError(`group: ${JSON.stringify(ALL)} is that of all rows in the report`);
  const given = givenOf(values);
  const answers = values.answer ?? [];
  const said = values.right === null ? ('unsure' as const) : values.right;
  const right = said ?? (values.first_wrong === undefined ? null : values.first_wrong < 0);
  if (right !== null && !given) throw new RowError('right: is about a response, which is missing');
  if (answers.length === 0 && right === null) throw new RowError('answer: is missing');
  const row = {
    answers: answersOf(answers, choices, check),
    choices: choices?.text ?? null,
    ...(values.check && { check: values.check }),
    context,
    messages: messages ?? null,
    right,
  };
  return { id, subset: group, question, reference: answers.join(' | ') || null, given, row };
}

/** The right answers as the check reads them. @throws RowError for those that it cannot */
function answersOf(
  answers: readonly string[],
  choices: Values['choices'] | null,
  check: TaskSettings['check'],
): string[] {
  const refused = (is: (answer: string) => boolean, what: string): void => {
    const odd = answers.find(is);
    if (odd !== undefined) throw new RowError(`answer: ${JSON.stringify(odd)} ${what}`);
  };
  for (const kind of ['number', 'yes-no', 'date', 'list'] as const)
    if (check === kind)
      refused((answer) => kindOf({ answers: [answer], choices: null }) !== kind, `is no ${kind}`);
  if (check === 'exact') refused((answer) => plain(answer) === '', 'has nothing to compare');
  if (check === 'regex') for (const answer of answers) checkPattern(answer);
  const isChoice = isCheck(check)
    ? kindRead(check, { answers, choices: choices?.text ?? null }) === 'choice'
    : check === 'judge' && choices;
  return isChoice ? answers.map((answer) => letterOf(answer, choices ?? null)) : [...answers];
}

function checkPattern(pattern: string): void {
  try {
    linearRegex(pattern);
  } catch (error) {
    throw new RowError(`answer: ${reasonOf(error)}`);
  }
}

/** The label of a choice if there are labels; else its text, `B` or `(B)`, or its place from 0, as MMLU has it. */
function letterOf(answer: string, choices: Values['choices'] | null): string {
  if (!choices) throw new RowError('choices: are missing');
  const options = optionsOf(choices.text);
  if (choices.label) {
    const labelled = options[choices.label.indexOf(answer)];
    if (!labelled) throw new RowError(`answer: ${JSON.stringify(answer)} is none of the labels`);
    return labelled.letter;
  }
  const bare = answer.replace(/^\((.)\)$/, '$1').toUpperCase();
  const found = options.filter(
    ({ letter, text }, place) => text === answer || letter === bare || String(place) === bare,
  );
  if (found.length > 1)
    throw new RowError(
      `answer: ${JSON.stringify(answer)} may be ${found.map(({ letter }) => letter).join(' or ')}, by text, letter or place`,
    );
  if (!found[0]) throw new RowError(`answer: ${JSON.stringify(answer)} is none of the choices`);
  return found[0].letter;
}

function givenOf({ response, steps, first_wrong }: Values): GivenResponse | null {
  if (first_wrong !== undefined && !steps)
    throw new RowError('first_wrong: is about steps, which are missing');
  if (steps) {
    if (response !== undefined && response !== steps.join(GIVEN_SEPARATOR))
      throw new RowError('steps: joined by blank lines must be the response');
    if (first_wrong !== undefined && first_wrong >= steps.length)
      throw new RowError(`first_wrong: there are only ${steps.length} steps, from 0`);
    const firstWrong = first_wrong === undefined || first_wrong < 0 ? null : first_wrong;
    return { generator: 'file', steps, firstWrong, finalAnswerCorrect: firstWrong === null };
  }
  if (response === undefined) return null;
  return { generator: 'file', steps: [response], firstWrong: null, finalAnswerCorrect: true, whole: true };
}

const optionsOf = (choices: readonly string[]): { readonly letter: string; readonly text: string }[] =>
  choices.map((text, i) => ({ letter: String.fromCharCode(65 + i), text }));

/** What answers to a question are compared with. */
export const keyOf = ({ question, row }: BenchProblem): AnswerKey => ({
  question,
  answers: row?.answers ?? [],
  choices: row?.choices ?? null,
});

/** The question with all that belongs to it: context before it, choices after it. */
export function wholeQuestion({ question, row }: BenchProblem): string {
  const listed =
    row?.choices &&
    optionsOf(row.choices)
      .map(({ letter, text }) => `(${letter}) ${text}`)
      .join('\n');
  return [row?.context, question, listed].filter((part) => part).join('\n\n');
}

const asksForLetter = (problem: BenchProblem, check: TaskSettings['check']): boolean => {
  const how = problem.row?.check ?? check;
  return problem.row !== undefined && isCheck(how) && kindRead(how, keyOf(problem)) === 'choice';
};

/** Messages to the model, without a system message of the run: worked examples, earlier messages, and the question. */
export function messagesOf(
  problem: BenchProblem,
  { prompt, check, examples = [] }: Pick<TaskSettings, 'prompt' | 'check' | 'examples'>,
): ChatMessage[] {
  const asksLetter = asksForLetter(problem, check);
  const asking = (question: string): ChatMessage => ({
    role: 'user',
    content: prompt
      ? prompt.replaceAll('{question}', () => question)
      : asksLetter
        ? `${question}\n\nAnswer with the letter of the right choice.`
        : question,
  });
  const shown = examples.flatMap(({ question, answer }): ChatMessage[] => [
    asking(question),
    { role: 'assistant', content: answer },
  ]);
  const before = problem.row?.messages?.slice(0, -1) ?? [];
  const system = before[0]?.role === 'system' ? before.slice(0, 1) : [];
  return [...system, ...shown, ...before.slice(system.length), asking(wholeQuestion(problem))];
}
