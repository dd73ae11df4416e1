import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
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
  .object(PROMPT_FIELDS)
  .refine((line) => Object.keys(PROMPT_FIELDS).filter((name) => name in line).length === 1, {
    error: 'needs exactly one of prompt, messages, question',
  });

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
 * Tokens of the prompts in a file of JSON Lines.
 * @param name `-` for standard input
 * @throws UsageError that names file, line and field; ModelError and TemplateError as `encodePrompt`
 */
export async function readPrompts(name: string, checkpoint: Checkpoint, most?: number): Promise<number[][]> {
  const lines =
    name === '-' ? await readAll(streams.stdin) : await optionFile('--input', name, readFile(name, 'utf8'));
  const where = `--input: ${name === '-' ? 'standard input' : name}`;
  const prompts = parseJsonLines(lines, promptLine, where).slice(0, most);
  if (prompts.length === 0) throw new UsageError('--input: contains no prompts');
  return prompts.map((line) => promptIdsOf(checkpoint, line));
}
