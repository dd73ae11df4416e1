import { z } from 'zod';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { fieldHint } from '../../src/files/field-hint.js';
import { UsageError } from '../../src/files/file-errors.js';
import { fieldName } from '../../src/files/json.js';
import { scoreFields } from '../../src/stream/wire.js';
import { Detokenizer } from '../../src/tokenizer/detokenizer.js';
import { encodePrompt, encodeText } from '../../src/tokenizer/prompt.js';
import { TOKUR_METHODS } from '../../src/uncertainty/method-names.js';
import type { ScoredResponse } from '../../src/uncertainty/sequence-scorer.js';
import type { AbsoluteScoring } from '../../src/uncertainty/settings.js';

const ids = z.array(z.int().min(0));

const inputLine = z.strictObject({
  id: z
    .union([z.string(), z.number()], { error: 'must be a string or a number' })
    .refine((id) => !Number.isInteger(id) || Number.isSafeInteger(id), {
      error: 'has more digits than a number keeps; write it as a string',
    })
    .optional(),
  promptIds: ids.optional(),
  /** Raw text: no template, no special tokens but those that it spells out. */
  prompt: z.string().optional(),
  messages: z
    .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
    .min(1)
    .optional(),
  responseIds: ids.optional(),
  response: z.string().optional(),
});

export interface InputLine {
  readonly id: string | number;
  readonly promptIds: readonly number[];
  readonly responseIds: readonly number[];
}

/**
 * @param number of the line in its file: the id of one without
 * @throws UsageError that names the field
 */
export function parseInputLine(line: string, number: number, checkpoint: Checkpoint): InputLine {
  const parsed = inputLine.safeParse(parseJson(line));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    const path = [...(issue?.path ?? []), ...unknown];
    const problem = unknown.length > 0 ? `unknown field${fieldHint(inputLine, path)}` : issue?.message;
    throw new UsageError(`${fieldName(path) || 'line'}: ${problem}`);
  }
  const { id = number, promptIds, prompt, messages, responseIds, response } = parsed.data;
  const { tokenizer } = checkpoint;
  oneOf({ promptIds, prompt, messages });
  oneOf({ responseIds, response });
  const result = {
    id,
    promptIds:
      promptIds ?? (messages ? encodePrompt(checkpoint, messages) : encodeText(tokenizer, prompt ?? '')),
    responseIds: responseIds ?? tokenizer.encode(response ?? ''),
  };
  const promptField = promptIds ? 'promptIds' : messages ? 'messages' : 'prompt';
  if (result.promptIds.length === 0) throw new UsageError(`${promptField}: needs at least one token`);
  inVocabulary('promptIds', result.promptIds, checkpoint);
  inVocabulary('responseIds', result.responseIds, checkpoint);
  return result;
}

export type OutputLine = ReturnType<typeof outputLine>;

/** One line of output: the scores, and the settings that they hold for. */
export function outputLine(
  id: InputLine['id'],
  checkpoint: Checkpoint,
  scoring: AbsoluteScoring,
  response: ScoredResponse,
) {
  const { tokenizer } = checkpoint;
  const detokenizer = new Detokenizer(tokenizer);
  const texts = response.tokens.map((token) => detokenizer.push(token.id));
  if (texts.length > 0) texts[texts.length - 1] += detokenizer.flush();
  return {
    id,
    model: checkpoint.name,
    ...settingsFields(scoring),
    positions: response.positions,
    tokens: response.tokens.map(({ index, id, logprob, ...score }) => ({
      index,
      id,
      text: texts[index]!,
      logprob,
      ...scoreFields(score, tokenizer),
    })),
  };
}

/** Settings that the scores depend on. */
function settingsFields({
  schedule: { kind, ...schedule },
  methods,
  alpha,
  form,
  random,
  tokur,
}: AbsoluteScoring) {
  return {
    schedule: kind,
    ...schedule,
    ...(form === 'derivative' && methods.includes('adversarial') && { form }),
    ...(methods.includes('adversarial') && { alpha }),
    ...(TOKUR_METHODS.some((method) => methods.includes(method)) && { tokur }),
    ...(methods.includes('random') &&
      random && { sigma: random.sigma, samples: random.samples, seed: random.seed }),
  };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new UsageError('line: is not valid JSON');
  }
}

function oneOf(fields: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(fields).filter((name) => fields[name] !== undefined);
  if (given.length === 1) return;
  const names = Object.keys(fields).join(', ');
  throw new UsageError(
    given.length === 0 ? `needs one of ${names}` : `${given.join(', ')}: only one of ${names} is allowed`,
  );
}

function inVocabulary(field: string, tokens: readonly number[], { config }: Checkpoint): void {
  const index = tokens.findIndex((id) => id >= config.vocabSize);
  if (index < 0) return;
  throw new UsageError(
    `${field}[${index}]: ${tokens[index]} is not in the vocabulary of ${config.vocabSize}`,
  );
}
