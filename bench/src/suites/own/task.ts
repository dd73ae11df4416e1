import { readFileSync } from 'node:fs';
import { basename, dirname, extname, resolve } from 'node:path';
import { reasonOf, UsageError } from 'flinch/internals';
import { parse } from 'yaml';
import { z } from 'zod';
import { SUITES } from '../suite.js';

/** What a row has, and the name of its column unless another is given. */
export const COLUMNS = [
  'id',
  'group',
  'question',
  'messages',
  'context',
  'choices',
  'answer',
  'response',
  'steps',
  'right',
  'first_wrong',
] as const;
export type Column = (typeof COLUMNS)[number];

/** Rules by which an answer is right. */
export const CHECKS = ['exact', 'number', 'choice', 'contains', 'regex'] as const;
export const COMMAND = 'command:';

const checkSchema = z.union([z.enum(CHECKS), z.templateLiteral([COMMAND, z.string().min(1)])]);
export type AnswerCheck = z.output<typeof checkSchema>;
export const HOW_CHECKED = `${CHECKS.join(', ')} or ${COMMAND}PROGRAM`;

/** @throws UsageError for what is no rule */
export function parseCheck(text: string): AnswerCheck {
  const { success, data } = checkSchema.safeParse(text);
  if (success) return data;
  throw new UsageError(`--check: must be judge, ${HOW_CHECKED}, not ${JSON.stringify(text)}`);
}

const columnsSchema = z.partialRecord(z.enum(COLUMNS), z.string().min(1));
export type Columns = z.output<typeof columnsSchema>;

const promptSchema = z.string().includes('{question}', { error: 'must contain {question}' });

/** Settings of a run on one's own questions, as its folder keeps them. */
export const taskSettingsSchema = z.strictObject({
  /** Title in reports. */
  name: z.string().min(1),
  check: z.union([checkSchema, z.literal('judge')]),
  /** What is asked, with `{question}` in it; `null` for the question alone. */
  prompt: z.string().nullable(),
  columns: columnsSchema,
});
export type TaskSettings = z.output<typeof taskSettingsSchema>;

/** A file of questions, and how they are asked and checked. */
export interface Task extends Omit<TaskSettings, 'check'> {
  readonly file: string;
  /** `null`: as the columns suggest. */
  readonly check: TaskSettings['check'] | null;
}

const taskFileSchema = z.strictObject({
  questions: z.string().min(1),
  name: z
    .string()
    .min(1)
    .refine((name) => !SUITES.some((suite) => suite === name), 'is that of a suite')
    .optional(),
  // A file may come from anybody: it names no program to run.
  check: z
    .enum([...CHECKS, 'judge'], {
      error: `must be ${CHECKS.join(', ')} or judge; only --check takes ${COMMAND}PROGRAM`,
    })
    .optional(),
  prompt: promptSchema.optional(),
  columns: columnsSchema.optional(),
});

/** Options that say what is in a file of questions. They go before what a task's file says. */
export interface TaskOptions {
  readonly check?: string;
  readonly prompt?: string;
  readonly columns?: Columns;
}

/**
 * @param file of questions; or a task in YAML, which names it
 * @throws UsageError that names the field
 */
export function openTask(file: string, { check, prompt, columns }: TaskOptions): Task {
  const isTask = ['.yaml', '.yml'].includes(extname(file).toLowerCase());
  const said = isTask ? readTask(file) : { questions: file };
  if (prompt !== undefined && !promptSchema.safeParse(prompt).success)
    throw new UsageError('--prompt: must contain {question}');
  return {
    file: isTask ? resolve(dirname(file), said.questions) : file,
    name: said.name ?? basename(said.questions),
    check:
      check === undefined || check === 'rules'
        ? (said.check ?? null)
        : check === 'judge'
          ? 'judge'
          : parseCheck(check),
    prompt: prompt ?? said.prompt ?? null,
    columns: { ...said.columns, ...columns },
  };
}

function readTask(file: string): z.output<typeof taskFileSchema> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`--questions: ${file}: cannot be read (${reasonOf(cause)})`, { cause });
  }
  let json: unknown;
  try {
    json = parse(text) ?? {};
  } catch (cause) {
    throw new UsageError(`--questions: ${file}: ${reasonOf(cause)}`, { cause });
  }
  const { success, data, error: fault } = taskFileSchema.safeParse(json);
  if (success) return data;
  const [issue] = fault.issues;
  throw new UsageError(
    `--questions: ${file}: ${issue?.path.length ? `${issue.path.join('.')}: ` : ''}${issue?.message}`,
  );
}

/** `question=Frage,answer=Antwort`. @throws UsageError */
export function parseColumns(text: string): Columns {
  const pairs = text.split(',').map((pair) => /^\s*([^=]*?)\s*=\s*(.*?)\s*$/.exec(pair)?.slice(1) ?? []);
  const odd = pairs.find(([name]) => name && !COLUMNS.some((known) => known === name));
  if (odd) throw new UsageError(`--columns: ${odd[0]} is none of ${COLUMNS.join(', ')}`);
  if (pairs.some(([name, column]) => !name || !column))
    throw new UsageError('--columns: must have the form question=NAME,answer=NAME');
  return columnsSchema.parse(Object.fromEntries(pairs));
}
