import { z } from 'zod';
import { isRecord, parseJson } from '../files/json.js';

/** A token that text is searched for before the vocabulary is applied, such as `<|im_start|>`. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Whether it is markup, no part of the text. */
  readonly special: boolean;
  readonly normalized: boolean;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  /** Whether it is no token within a word. */
  readonly single_word: boolean;
}

/** The fields of tokenizer_config.json that flinch reads. */
export interface TokenizerConfig {
  /** `bos_token`, `eos_token`, ... → content; those that are null or absent are not in it. */
  readonly namedTokens: ReadonlyMap<string, string>;
  readonly additionalSpecialTokens: readonly string[];
  readonly addedTokens: readonly AddedToken[];
  /** Jinja source. */
  readonly chatTemplate: string | null;
}

/** Ids stay below this, so that no broken file makes a table of tokens exhaust memory. */
export const MAX_IDS = 2 ** 24;

const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);

export const addedTokenSchema = z.object({
  id: z.int().min(0).lt(MAX_IDS),
  content: z.string().min(1),
  special: flag,
  normalized: flag,
  lstrip: flag,
  rstrip: flag,
  single_word: flag,
});

/** A special token is written as a string, or as an object with its properties. */
const content = z.preprocess((value) => (isRecord(value) ? value.content : value), z.string().nullish());

const namedSchema = z.object({
  bos_token: content,
  eos_token: content,
  unk_token: content,
  sep_token: content,
  pad_token: content,
  cls_token: content,
  mask_token: content,
});

/** `chat_template`: one template, or several by name, of which plain chats use `default`. */
export const chatTemplateSchema = z.object({
  chat_template: z.preprocess(
    defaultTemplate,
    z.string('expected a template, or a list of them with one called "default"').nullish(),
  ),
});

const schema = chatTemplateSchema.extend({
  additional_special_tokens: z.array(content).nullish(),
  added_tokens_decoder: z.record(z.string(), z.unknown()).nullish(),
});

/**
 * Reads tokenizer_config.json, which a checkpoint need not have (`json` is then `undefined`).
 *
 * @throws ModelError naming the field
 */
export function parseTokenizerConfig(json: unknown = {}, file: string): TokenizerConfig {
  const raw = parseJson(schema, json, file);
  const named = Object.entries(parseJson(namedSchema, json, file));
  const addedTokens = Object.entries(raw.added_tokens_decoder ?? {}).map(([id, token]) =>
    parseJson(addedTokenSchema, isRecord(token) ? { ...token, id: Number(id) } : token, file, [
      'added_tokens_decoder',
      id,
    ]),
  );
  return {
    namedTokens: new Map(named.flatMap(([name, token]) => (token ? [[name, token] as const] : []))),
    additionalSpecialTokens: (raw.additional_special_tokens ?? []).flatMap((token) => token || []),
    addedTokens,
    chatTemplate: raw.chat_template ?? null,
  };
}

function defaultTemplate(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const entry: unknown = value.find(
    (candidate: unknown) => isRecord(candidate) && candidate.name === 'default',
  );
  return isRecord(entry) ? entry.template : value;
}
