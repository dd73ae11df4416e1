import { dirname, join } from 'node:path';
import { z } from 'zod';
import { ModelError, show } from '../files/file-errors.js';
import { isRecord, oneOf, parseJson, valuesIn } from '../files/json.js';
import { listUpTo } from '../files/limited-list.js';
import { type AddedToken, addedTokenSchema, MAX_IDS, parseTokenizerConfig } from './tokenizer-config.js';

export interface Vocabulary {
  /** Spelling → id, without the added tokens. */
  readonly ids: ReadonlyMap<string, number>;
  readonly added: readonly AddedToken[];
  /** Contents of added tokens that show, and that a message cannot write. */
  readonly control: ReadonlySet<string>;
}

/** Gemma 3 has 262,144 tokens and 514,906 merges, and 6,415 added tokens of 76,000 characters. */
const MAX_TOKENS = 2 ** 19;
const MAX_MERGES = 2 ** 20;
/** Each is a node of the tree by which a text is searched for them, of 200 bytes. */
const MAX_ADDED_CHARACTERS = 2 ** 18;
/** All parts but the model, whose values are as many as its tokens and merges. */
const PARTS = ['added_tokens', 'normalizer', 'pre_tokenizer', 'post_processor', 'decoder'] as const;
/** Values of each part: zod keeps an error for every one. */
const MAX_VALUES = 2 ** 18;

const empty = z.literal('').nullish();

const schema = z.object({
  model: z.object({
    // Files of early versions do not name the model; their merges show that it is BPE.
    type: oneOf(['BPE']).optional(),
    merges: listUpTo(MAX_MERGES, z.unknown()),
    unk_token: z.string().nullish(),
    continuing_subword_prefix: empty,
    end_of_word_suffix: empty,
    dropout: z.literal(0, 'is not supported (supported: 0)').nullish(),
  }),
  added_tokens: z.array(addedTokenSchema).nullish(),
});

/**
 * Reads the vocabulary of a tokenizer.json, with the tokens that tokenizer_config.json adds or declares special:
 * a token is special if either file says so, as in transformers.
 *
 * @throws ModelError naming the field: only BPE is supported, ids must be unambiguous
 */
export function parseVocabulary(json: unknown, configJson: unknown, file: string): Vocabulary {
  for (const part of PARTS) {
    const values = isRecord(json) ? valuesIn(json[part]) : 0;
    if (values > MAX_VALUES) throw new ModelError(file, part, `has ${values} values (at most ${MAX_VALUES})`);
  }
  const { model, added_tokens } = parseJson(schema, json, file);
  const ids = parseIds(isRecord(json) && isRecord(json.model) ? json.model.vocab : undefined, file);
  const added = new Map<string, AddedToken>();
  const spellings = new Map<number, string>();
  const add = (token: AddedToken, source: string, field: string) => {
    const id = added.get(token.content)?.id ?? ids.get(token.content);
    if (id !== undefined && id !== token.id) {
      throw new ModelError(source, field, `${show(token.content)} has id ${token.id} here and ${id} before`);
    }
    const spelling = spellings.get(token.id);
    if (spelling !== undefined && spelling !== token.content) {
      const problem = `id ${token.id} is both ${show(spelling)} and ${show(token.content)}`;
      throw new ModelError(source, field, problem);
    }
    spellings.set(token.id, token.content);
    const known = added.get(token.content);
    added.set(token.content, known ? { ...known, special: known.special || token.special } : token);
  };

  for (const [i, token] of (added_tokens ?? []).entries()) add(token, file, `added_tokens[${i}]`);
  const configFile = join(dirname(file), 'tokenizer_config.json');
  const config = parseTokenizerConfig(configJson, configFile);
  for (const token of config.addedTokens) add(token, configFile, `added_tokens_decoder.${token.id}`);
  for (const content of [...config.namedTokens.values(), ...config.extraSpecialTokens]) {
    const id = added.get(content)?.id ?? ids.get(content);
    const flags = { special: true, normalized: false, lstrip: false, rstrip: false };
    if (id !== undefined) add({ id, content, ...flags }, configFile, content);
  }

  const { unk_token: unknown } = model;
  if (unknown != null && !ids.has(unknown) && !added.has(unknown)) {
    throw new ModelError(file, 'model.unk_token', `${show(unknown)} is not in the vocabulary`);
  }
  const characters = [...added.keys()].reduce((sum, { length }) => sum + length, 0);
  if (characters > MAX_ADDED_CHARACTERS) {
    const problem = `have ${characters} characters together (at most ${MAX_ADDED_CHARACTERS})`;
    throw new ModelError(file, 'added_tokens', problem);
  }
  return { ids, added: [...added.values()], control: new Set(config.controlTokens) };
}

/**
 * `model.vocab`, entry by entry: a record of zod, or a lookup in the object itself, would treat tokens such as
 * `__proto__` and `constructor` as something else.
 */
function parseIds(vocab: unknown, file: string): ReadonlyMap<string, number> {
  if (!isRecord(vocab)) throw new ModelError(file, 'model.vocab', `expected an object, found ${show(vocab)}`);
  const { length } = Object.keys(vocab);
  if (length > MAX_TOKENS) {
    throw new ModelError(file, 'model.vocab', `has ${length} tokens (at most ${MAX_TOKENS})`);
  }
  const ids = new Map<string, number>();
  const taken = new Map<number, string>();
  for (const [token, id] of Object.entries(vocab)) {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= MAX_IDS) {
      throw new ModelError(file, `model.vocab.${token}`, `expected a token id, found ${show(id)}`);
    }
    const other = taken.get(id);
    if (other !== undefined)
      throw new ModelError(file, `model.vocab.${token}`, `has id ${id}, as does ${show(other)}`);
    taken.set(id, token);
    ids.set(token, id);
  }
  return ids;
}
