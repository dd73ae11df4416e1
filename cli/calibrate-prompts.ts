import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import type { Checkpoint } from '../src/checkpoint/checkpoint.js';
import { UsageError } from '../src/files/errors.js';
import { parseJsonLines } from '../src/files/json-lines.js';
import type { CollectedAnswer } from '../src/stream/collect-scores.js';
import { generateProblems } from '../src/tasks/generate.js';
import { TASKS } from '../src/tasks/problem.js';
import { verify } from '../src/tasks/verify.js';
import type { ChatMessage } from '../src/tokenizer/chat-template.js';
import { encodePrompt, encodeText } from '../src/tokenizer/prompt.js';
import { optionFile } from './option-file.js';

export interface CalibrationPrompt {
  readonly promptIds: readonly number[];
  /** How many steps of an answer count as ordinary: the leading ones. */
  readonly ordinarySteps: (answer: Pick<CollectedAnswer, 'tokens' | 'steps'>) => number;
}

const message = z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() });

/** What may be asked in a line: one of these. */
const PROMPT_FIELDS = {
  /** Raw text: no template, no special tokens but those that it spells out. */
  prompt: z.string().optional(),
  messages: z.array(message).min(1).optional(),
  /** Message of a user; raw text for a model without a chat template. */
  question: z.string().optional(),
};
type Prompted = z.output<z.ZodObject<typeof PROMPT_FIELDS>>;

/** A line of a file of prompts. Data sets have further fields, which play no part unless they are named here. */
export const lineOf = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z
    .object({ ...PROMPT_FIELDS, ...fields })
    .refine((line) => Object.keys(PROMPT_FIELDS).filter((name) => name in line).length === 1, {
      error: 'needs exactly one of prompt, messages, question',
    });
const promptLine = lineOf({});

/** @throws ModelError and TemplateError as `encodePrompt` */
export function promptIdsOf(checkpoint: Checkpoint, { prompt, messages, question = '' }: Prompted): number[] {
  if (prompt !== undefined) return encodeText(checkpoint.tokenizer, prompt);
  if (messages === undefined && checkpoint.chatTemplate.source === null)
    return encodeText(checkpoint.tokenizer, question);
  return encodePrompt(checkpoint, messages ?? [{ role: 'user', content: question }]);
}

function promptsIn(lines: string, file: string) {
  try {
    return parseJsonLines(lines, promptLine);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`--input: ${file}: ${error.message}`) : error;
  }
}

/**
 * Prompts of a file of JSON Lines. Whole answers count, because it is unknown which parts are right.
 * @param name `-` for standard input
 * @throws UsageError that names file, line and field; ModelError and TemplateError as `encodePrompt`
 */
export async function readPrompts(
  name: string,
  checkpoint: Checkpoint,
  limit: number,
): Promise<CalibrationPrompt[]> {
  const lines =
    name === '-' ? await readAll(process.stdin) : await optionFile('--input', name, readFile(name, 'utf8'));
  const prompts = promptsIn(lines, name === '-' ? 'standard input' : name).slice(0, limit);
  if (prompts.length === 0) throw new UsageError('--input: contains no prompts');
  return prompts.map((line) => ({
    promptIds: promptIdsOf(checkpoint, line),
    ordinarySteps: ({ steps }) => steps.length,
  }));
}

/**
 * The embedded model's own problems. What comes before the first wrong step of an answer counts.
 * @param seed of 32 bits; the same ones give the same problems
 */
export function taskPrompts(checkpoint: Checkpoint, count: number, seed: number): CalibrationPrompt[] {
  return generateProblems({ seed, count, tasks: TASKS }).map((problem) => {
    const messages: ChatMessage[] = [{ role: 'user', content: problem.question }];
    return {
      promptIds: encodePrompt(checkpoint, messages),
      ordinarySteps: (answer) => {
        const response = answer.tokens.map(({ text }) => text).join('');
        const { span } = verify(problem, response);
        return span === null ? answer.steps.length : stepsBefore(span[0], answer);
      },
    };
  });
}

/** Steps of an answer that end before a place in its text. */
export function stepsBefore(
  place: number,
  { tokens, steps }: Pick<CollectedAnswer, 'tokens' | 'steps'>,
): number {
  const textOf = (from: number, to: number): string =>
    tokens
      .slice(from, to)
      .map(({ text }) => text)
      .join('');
  const first = steps.findIndex(({ to }) => textOf(0, to).trimEnd().length > place);
  return first < 0 ? steps.length : first;
}
