import { readFileSync } from 'node:fs';
import { basename, dirname, extname, resolve } from 'node:path';
import { reasonOf, UsageError } from 'flinch/internals';
import { parse } from 'yaml';
import { z } from 'zod';
import { SUITES } from '../suite.js';
import { CHECKS } from './checks.js';

/** What a row has, and the name of its column unless another is given. */
export const COLUMNS = [
  'id',
  'group',
  'question',
  'messages',
  'context',
  'choices',
  'answer',
  'check',
  'response',
  'steps',
  'right',
  'first_wrong',
] as const;
export type Column = (typeof COLUMNS)[number];

/** A program of the user's checks the answers. */
export const COMMAND = 'command:';
const checkSchema = z.union([z.enum([...CHECKS, 'judge']), z.templateLiteral([COMMAND, z.string().min(1)])]);
export const HOW_CHECKED = `${CHECKS.join(', ')} or ${COMMAND}PROGRAM`;

/** @throws UsageError for what is no rule */
function parseCheck(text: string): TaskSettings['check'] {
  const { success, data } = checkSchema.safeParse(text);
  if (success) return data;
  throw new UsageError(`--check: must be judge, ${HOW_CHECKED}, not ${JSON.stringify(text)}`);
}

/** A question with the answer that a model is shown. */
const exampleSchema = z.strictObject({ question: z.string(), answer: z.string() });
export type Example = z.output<typeof exampleSchema>;

const columnsSchema = z.partialRecord(z.enum(COLUMNS), z.string().min(1));

const promptSchema = z.string().includes('{question}', { error: 'must contain {question}' });

/** Settings of a run on one's own questions, as its folder keeps them. */
export const taskSettingsSchema = z.strictObject({
  /** Title in reports. */
  name: z.string().min(1),
  check: checkSchema,
  /** What is asked, with `{question}` in it; `null` for the question alone. */
  prompt: z.string().nullable(),
  columns: columnsSchema,
  /** Worked examples before each question. */
  examples: z.array(exampleSchema).exactOptional(),
});
export type TaskSettings = z.output<typeof taskSettingsSchema>;

/** A file of questions, and how they are asked and checked. */
export interface Task extends Omit<TaskSettings, 'examples'> {
  readonly file: string;
  /** File of worked examples. */
  readonly examples: string | null;
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
  examples: z.string().min(1).optional(),
  columns: columnsSchema.optional(),
});

/**
 * @param file of questions; or a task in YAML, which names it
 * @param check of the command line, which goes before what a task's file says; `rules` says nothing
 * @param examples file of the command line, which goes before that of the task
 * @throws UsageError that names the field
 */
export function openTask(file: string, check: string, examples?: string): Task {
  const isTask = ['.yaml', '.yml'].includes(extname(file).toLowerCase());
  const said = isTask ? readTask(file) : { questions: file };
  const beside = said.examples === undefined ? null : resolve(dirname(file), said.examples);
  return {
    file: isTask ? resolve(dirname(file), said.questions) : file,
    name: said.name ?? basename(said.questions),
    check: check === 'rules' ? (said.check ?? 'kind') : parseCheck(check),
    prompt: said.prompt ?? null,
    columns: said.columns ?? {},
    examples: examples ?? beside,
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
