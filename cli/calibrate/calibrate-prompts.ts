import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import { kindOf } from '../../src/answers/answer-kind.js';
import { readAnswer } from '../../src/answers/read-answer.js';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { UsageError } from '../../src/files/file-errors.js';
import { parseJsonLines } from '../../src/files/json-text.js';
import { encodePrompt, encodeText } from '../../src/tokenizer/prompt.js';
import { optionFile } from '../option-file.js';
import { streams } from '../terminal.js';

const message = z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() });

/** What may be asked in a line: one of these. */
const PROMPT_FIELDS = {
  /** Raw text: no template, no special tokens but those that it spells out. */
  prompt: z.string().optional(),
  messages: z.array(message).min(1).optional(),
  /** Message of a user; raw text for a model without a chat template. */
  question: z.string().optional(),
};
/** A line of a file of prompts; further fields of a data set play no part. */
const promptLine = z
  .object({
    ...PROMPT_FIELDS,
    /** Right answers, any of which will do. */
    answers: z.array(z.string().min(1)).min(1).optional(),
  })
  .refine((line) => Object.keys(PROMPT_FIELDS).filter((name) => name in line).length === 1, {
    error: 'needs exactly one of prompt, messages, question',
  });

/** A prompt, and what is known of its answer. */
export interface CalibrationPrompt {
  readonly promptIds: readonly number[];
  /** Whether an answer is ordinary: a right one, or any if the right ones are not known. */
  isOrdinary(response: string): boolean;
}

/** @throws ModelError and TemplateError as `encodePrompt` */
function promptIdsOf(
  checkpoint: Checkpoint,
  { prompt, messages, question = '' }: z.output<typeof promptLine>,
): number[] {
  if (prompt !== undefined) return encodeText(checkpoint.tokenizer, prompt);
  if (messages === undefined && checkpoint.chatTemplate.source === null)
    return encodeText(checkpoint.tokenizer, question);
  return encodePrompt(checkpoint, messages ?? [{ role: 'user', content: question }]);
}

/**
 * The prompts in a file of JSON Lines.
 * @param name `-` for standard input
 * @throws UsageError that names file, line and field; ModelError and TemplateError as `encodePrompt`
 */
export async function readPrompts(
  name: string,
  checkpoint: Checkpoint,
  most?: number,
): Promise<CalibrationPrompt[]> {
  const lines =
    name === '-' ? await readAll(streams.stdin) : await optionFile('--input', name, readFile(name, 'utf8'));
  const where = `--input: ${name === '-' ? 'standard input' : name}`;
  const prompts = parseJsonLines(lines, promptLine, where).slice(0, most);
  if (prompts.length === 0) throw new UsageError('--input: contains no prompts');
  return prompts.map((line) => ({
    promptIds: promptIdsOf(checkpoint, line),
    isOrdinary: (response) => line.answers === undefined || isRight(response, line, line.answers),
  }));
}

/** Whether an answer is one of those that are right; one that cannot be compared with them counts as wrong. */
function isRight(
  response: string,
  { prompt, messages, question }: z.output<typeof promptLine>,
  answers: readonly string[],
): boolean {
  const asked = question ?? prompt ?? messages?.at(-1)?.content ?? '';
  const key = { question: asked, answers, choices: null };
  return readAnswer(response, key, kindOf(key)).correct === true;
}
