import { join } from 'node:path';
import { z } from 'zod';
import { isRecord, parseJson, readOptionalJson } from '../files/json.js';

/** A token that text is searched for before the vocabulary is applied, such as `<|im_start|>`. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Whether it is markup, no part of the text. */
  readonly special: boolean;
  readonly normalized: boolean;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
}

/** The fields of tokenizer_config.json that flinch reads. */
export interface TokenizerConfig {
  /** Variables of the chat template: `bos_token`, `image_token`, ... → content; those that are null are not in it. */
  readonly namedTokens: ReadonlyMap<string, string>;
  /** Special tokens without a name. */
  readonly extraSpecialTokens: readonly string[];
  /** Tokens that show in a text, but that a message cannot write. */
  readonly controlTokens: readonly string[];
  readonly addedTokens: readonly AddedToken[];
  readonly chatTemplate: TemplateSources;
}

export interface TemplateSources {
  readonly plain: string | null;
  /** For conversations with tools, where they have one of their own. */
  readonly toolUse: string | null;
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
  // The library finds such a token within words, too.
  single_word: z.literal(false, 'is not supported').nullish(),
});

/** A special token is written as a string, or as an object with its properties. */
const content = z.preprocess((value) => (isRecord(value) ? value.content : value), z.string().nullish());

/** `chat_template`: one template, or several by name, of which plain chats use `default`, and those with tools `tool_use`. */
export const chatTemplateSchema = z.object({
  chat_template: z
    .union(
      [
        z.string().transform((plain) => ({ plain, toolUse: null })),
        z
          .array(z.object({ name: z.string(), template: z.string() }))
          .transform((list) => new Map(list.map(({ name, template }) => [name, template])))
          .refine((byName) => byName.has('default'))
          .transform((byName) => ({
            plain: byName.get('default') ?? null,
            toolUse: byName.get('tool_use') ?? null,
          })),
      ],
      'expected a template, or a list of them with one called "default"',
    )
    .nullish()
    .transform((sources): TemplateSources => sources ?? { plain: null, toolUse: null }),
});

const contents = z.array(content).nullish();

const schema = chatTemplateSchema.extend({
  additional_special_tokens: contents,
  extra_special_tokens: z.union([contents, z.record(z.string(), content)]),
  chat_control_tokens: contents,
  added_tokens_decoder: z.record(z.string(), z.unknown()).nullish(),
  split_special_tokens: z
    .literal(false, 'is not supported: the names of special tokens would be text in a prompt')
    .nullish(),
});

/** Each key that names a token is a variable of the chat template; `add_bos_token` is a switch. */
const isTokenName = ([key, value]: readonly [string, unknown]): boolean =>
  key.endsWith('_token') && typeof value !== 'boolean';
const namedSchema = z.record(z.string(), content);

/**
 * Contents of tokenizer_config.json, `undefined` where there is none. As in transformers, special_tokens_map.json
 * overrides it, but is not read where `added_tokens_decoder` says all of the tokens.
 *
 * @throws ModelError for a file that is broken
 */
export async function readTokenizerConfig(dir: string): Promise<unknown> {
  const config = await readOptionalJson(dir, 'tokenizer_config.json');
  if (isRecord(config) && config.added_tokens_decoder != null) return config;
  const map = await readOptionalJson(dir, SPECIAL_TOKENS_MAP);
  if (map === undefined || (config !== undefined && !isRecord(config))) return config;
  parseTokenizerConfig(map, join(dir, SPECIAL_TOKENS_MAP));
  return { ...config, ...(isRecord(map) ? map : {}) };
}

const SPECIAL_TOKENS_MAP = 'special_tokens_map.json';

/**
 * Reads tokenizer_config.json, which a checkpoint need not have (`json` is then `undefined`).
 *
 * @throws ModelError naming the field
 */
export function parseTokenizerConfig(json: unknown = {}, file: string): TokenizerConfig {
  const raw = parseJson(schema, json, file);
  const { extra_special_tokens: extra } = raw;
  const tokens = Object.entries(isRecord(json) ? json : {}).filter(isTokenName);
  const named = [
    ...Object.entries(parseJson(namedSchema, Object.fromEntries(tokens), file)),
    ...Object.entries(isRecord(extra) ? extra : {}),
  ];
  const addedTokens = Object.entries(raw.added_tokens_decoder ?? {}).map(([id, token]) =>
    parseJson(addedTokenSchema, isRecord(token) ? { ...token, id: Number(id) } : token, file, [
      'added_tokens_decoder',
      id,
    ]),
  );
  const listed = (list: readonly (string | null | undefined)[] | null | undefined): string[] =>
    (list ?? []).flatMap((token) => token || []);
  return {
    namedTokens: new Map(named.flatMap(([name, token]) => (token ? [[name, token] as const] : []))),
    extraSpecialTokens: [
      ...listed(raw.additional_special_tokens),
      ...listed(Array.isArray(extra) ? extra : []),
    ],
    controlTokens: listed(raw.chat_control_tokens),
    addedTokens,
    chatTemplate: raw.chat_template,
  };
}
