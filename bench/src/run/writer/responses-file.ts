import { existsSync, readFileSync } from 'node:fs';
import type { Checkpoint } from 'flinch';
import { parseJsonLines, UsageError } from 'flinch/internals';
import { z } from 'zod';
import { encodeResponse, textsOf } from '../prompt.js';
import { sampleKey } from '../run-folder.js';
import type { Question, Writer, Written } from './writer.js';

/** A line of the file of `--responses`, named as in OpenAI's and vLLM's answers. */
export const writtenLineSchema = z
  .strictObject({
    /** Id of the problem. */
    id: z.string(),
    /** 0 for the response that is evaluated, from 1 for the further ones. */
    sample: z.int().min(0).default(0),
    /** Ids of the prompt; if absent, it is not compared. */
    prompt_token_ids: z.array(z.int().min(0)).exactOptional(),
    /** Ids with or without the end token. */
    token_ids: z.array(z.int().min(0)).exactOptional(),
    text: z.string().exactOptional(),
    /** Log-probabilities of `token_ids`, at temperature 1. */
    logprobs: z.array(z.number().nullable()).exactOptional(),
    finish_reason: z.enum(['stop', 'length']),
  })
  .refine(({ token_ids, text }) => token_ids || text !== undefined, {
    path: ['token_ids'],
    message: 'is required if there is no text',
  })
  .refine(({ token_ids, logprobs }) => !logprobs || logprobs.length === token_ids?.length, {
    path: ['logprobs'],
    message: 'must have one number for each of token_ids',
  });
type WrittenLine = z.output<typeof writtenLineSchema>;

/**
 * Responses from a file, written by any other program.
 * @throws UsageError that names line and field
 */
export function fileWriter(checkpoint: Checkpoint, file: string): Writer {
  const lines = readLines(file);
  return {
    kind: 'file',
    has: (question) => lines.has(sampleKey(question)),
    close: () => {},
    async write(question) {
      const line = lines.get(sampleKey(question))!;
      try {
        return writtenOf(checkpoint, question, line);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        const which = line.sample === 0 ? '' : `, sample ${line.sample}`;
        throw new UsageError(`--responses: ${file}: ${JSON.stringify(line.id)}${which}: ${error.message}`);
      }
    },
  };
}

function readLines(file: string): ReadonlyMap<string, WrittenLine> {
  const fail = (why: string): UsageError => new UsageError(`--responses: ${file}: ${why}`);
  if (!existsSync(file)) throw fail('there is no such file');
  const lines = new Map<string, WrittenLine>();
  try {
    for (const line of parseJsonLines(readFileSync(file, 'utf8'), writtenLineSchema)) {
      const key = sampleKey(line);
      if (lines.has(key)) throw fail(`${JSON.stringify(line.id)}, sample ${line.sample}, is given twice`);
      lines.set(key, line);
    }
  } catch (error) {
    if (!(error instanceof UsageError) || error.message.startsWith('--responses')) throw error;
    throw fail(error.message);
  }
  return lines;
}

function writtenOf(checkpoint: Checkpoint, question: Question, line: WrittenLine): Written {
  const { prompt_token_ids: prompt, finish_reason: finish, text, logprobs } = line;
  if (
    prompt &&
    (prompt.length !== question.promptIds.length || prompt.some((id, i) => id !== question.promptIds[i]))
  )
    throw new UsageError('prompt_token_ids: are not those of this problem by the template of --model');
  if (!line.token_ids) {
    const encoded = encodeResponse(checkpoint, text!);
    if (!encoded)
      throw new UsageError('text: the tokenizer of --model does not give it back; give token_ids');
    return { ...encoded, finish };
  }
  const { vocabSize } = checkpoint.config;
  if (line.token_ids.some((id) => id >= vocabSize))
    throw new UsageError(`token_ids: the vocabulary of --model has ${vocabSize} tokens`);
  const ends = finish === 'stop' && checkpoint.eosTokenIds.includes(line.token_ids.at(-1) ?? -1);
  const tokenIds = ends ? line.token_ids.slice(0, -1) : line.token_ids;
  const tokenTexts = textsOf(checkpoint.tokenizer, tokenIds);
  if (text !== undefined && tokenTexts.join('').trim() !== text.trim())
    throw new UsageError('text: is not what token_ids spell');
  return { tokenIds, tokenTexts, finish, ...(logprobs && { logprobs: logprobs.slice(0, tokenIds.length) }) };
}
