import { z } from 'zod';
import { ModelError, show } from '../../files/file-errors.js';
import { oneOf, parseJson } from '../../files/json.js';
import { upTo } from '../../files/limited-list.js';
import { ChatTemplate, testTemplate } from '../../tokenizer/chat-template.js';
import { conversationsOf, tokenFaults } from '../../tokenizer/template-tokens.js';
import { parseTokenizerConfig } from '../../tokenizer/tokenizer-config.js';
import { MAX_ENTRIES } from './cursor.js';
import type { GgufHeader } from './header.js';
import { PRE_TOKENIZERS, preTokenizer } from './pre-tokenizers.js';
import { mergesByScore } from './score-merges.js';
import { CONTROL, NORMAL, STATED_ENDS, specialTokens, UNKNOWN, USER_DEFINED } from './special-tokens.js';

const id = z
  .int()
  .min(0)
  .lt(2 ** 24);
const strings = z.preprocess(upTo(MAX_ENTRIES, z.string()), z.array(z.string()));
const numbers = z.preprocess(upTo(MAX_ENTRIES, z.number()), z.array(z.number()));

const schema = z.object({
  'tokenizer.ggml.model': oneOf(['gpt2', 'llama']),
  'tokenizer.ggml.pre': z.string().optional(),
  'tokenizer.ggml.tokens': strings.refine(({ length }) => length > 0, 'is empty'),
  'tokenizer.ggml.token_type': numbers.optional(),
  'tokenizer.ggml.scores': numbers.optional(),
  'tokenizer.ggml.merges': strings.optional(),
  'tokenizer.ggml.bos_token_id': id.optional(),
  'tokenizer.ggml.eos_token_id': id.optional(),
  'tokenizer.ggml.eot_token_id': id.optional(),
  'tokenizer.ggml.eom_token_id': id.optional(),
  'tokenizer.ggml.fim_pad_token_id': id.optional(),
  'tokenizer.ggml.fim_rep_token_id': id.optional(),
  'tokenizer.ggml.fim_sep_token_id': id.optional(),
  'tokenizer.ggml.unknown_token_id': id.optional(),
  'tokenizer.ggml.add_bos_token': z.boolean().optional(),
  'tokenizer.ggml.add_eos_token': z.boolean().optional(),
  'tokenizer.ggml.add_space_prefix': z.boolean().optional(),
  'tokenizer.chat_template': z.string().optional(),
  'tokenizer.chat_template.tool_use': z.string().optional(),
});
type Raw = z.output<typeof schema>;

/** Special tokens of `llama`, if the file does not state them. */
const ASSUMED: Readonly<Record<string, number | undefined>> = { unknown: 0, bos: 1, eos: 2 };

/** Of the other metadata, a list of templates, and the id of a token, change nothing. */
const isKnown = (key: string): boolean =>
  Object.hasOwn(schema.shape, key) ||
  /^tokenizer\.chat_template(s$|\.)/.test(key) ||
  /^tokenizer\.ggml\.\w+_token_id$/.test(key);

/** Tokens of these kinds end an answer. */
const END_KINDS = ['eos', 'eot', 'eom', 'fim_pad', 'fim_rep', 'fim_sep'] as const;

/**
 * Contents of tokenizer.json and tokenizer_config.json, the chat template, the ids that begin and end a text, those of
 * them that config.json states (`eosTokenIds`), and warnings.
 * @throws ModelError naming the field
 */
export function ggufTokenizer({ metadata }: Pick<GgufHeader, 'metadata'>, file: string) {
  const raw = parseJson(schema, Object.fromEntries(metadata), file);
  const tokens = raw['tokenizer.ggml.tokens'].map((token, i) => token || `[EMPTY_${i}]`);
  const ids = idsOf(tokens, file);
  for (const key of ['tokenizer.ggml.token_type', 'tokenizer.ggml.scores'] as const) {
    const length = raw[key]?.length ?? tokens.length;
    if (length !== tokens.length)
      throw new ModelError(file, key, `has ${length} entries for ${tokens.length} tokens`);
  }
  const types = raw['tokenizer.ggml.token_type'] ?? tokens.map(() => NORMAL);
  const idOf = (name: 'bos' | 'unknown' | (typeof END_KINDS)[number]) => {
    const key = `tokenizer.ggml.${name}_token_id` as const;
    const found = raw[key] ?? (raw['tokenizer.ggml.model'] === 'llama' ? ASSUMED[name] : undefined);
    if (found === undefined || found < tokens.length) return found;
    throw new ModelError(file, key, `${found} is outside the vocabulary of ${tokens.length}`);
  };
  const [bos, eos, unknown] = [idOf('bos'), idOf('eos'), idOf('unknown')];
  const ends = END_KINDS.flatMap((kind) => idOf(kind) ?? []);
  const turnEnds = [eos, idOf('eot'), idOf('eom')].filter((end) => end !== undefined);
  const named = tokens.flatMap((token, i) => (types[i] === CONTROL && STATED_ENDS.has(token) ? [i] : []));

  const added = tokens.flatMap((content, i) => {
    const special = types[i] === CONTROL || types[i] === UNKNOWN;
    if (!special && types[i] !== USER_DEFINED) return [];
    return [{ id: i, content, special, normalized: false, lstrip: false, rstrip: false, single_word: false }];
  });
  const vocab = Object.fromEntries(ids);
  const kind =
    raw['tokenizer.ggml.model'] === 'gpt2'
      ? byteLevel(raw, ids, file)
      : sentencePiece(raw, { tokens, types, unknown: tokens[unknown ?? 0] ?? null }, file);
  const begins = raw['tokenizer.ggml.add_bos_token'] ?? kind.begins;
  const plain = raw['tokenizer.chat_template'];
  const toolUse = raw['tokenizer.chat_template.tool_use'];
  const config = {
    ...(bos !== undefined && { bos_token: tokens[bos] }),
    ...(eos !== undefined && { eos_token: tokens[eos] }),
    ...(raw['tokenizer.ggml.add_eos_token'] && { add_eos_token: true }),
    chat_template:
      plain !== undefined && toolUse !== undefined
        ? [ofName('default', plain), ofName('tool_use', toolUse)]
        : (plain ?? null),
  };
  const { namedTokens, chatTemplate } = parseTokenizerConfig(config, file);
  const template = new ChatTemplate(chatTemplate, { file, namedTokens });
  testTemplate(template);
  const conversations = conversationsOf(template);
  const sources = [plain, toolUse].filter((source) => source !== undefined);
  const merged = { ids, types, merges: kind.model.merges };
  const special = specialTokens(merged, ends, { conversations, sources });
  const first = begins && bos !== undefined ? (tokens[bos] ?? '') : '';
  const lacksFirst = conversations.length > 0 && !conversations.some((text) => text.startsWith(first));
  return {
    tokenizer: {
      version: '1.0',
      added_tokens: added,
      ...kind.parts,
      post_processor: begins && bos !== undefined ? beginsWith(tokens[bos] ?? '', bos) : null,
      model: { type: 'BPE', vocab, ...kind.model },
    },
    // What the types do not say stands here, not in tokenizer.json, whose bytes identify a model.
    config: {
      ...config,
      extra_special_tokens: special.endIds.map((end) => tokens[end]),
      added_tokens_decoder: Object.fromEntries(
        special.marks.map((content) => [ids.get(content), { content, special: false }]),
      ),
      chat_control_tokens: special.marks,
    },
    chatTemplate: template,
    bosTokenId: bos ?? null,
    eosTokenIds: [...new Set([...turnEnds, ...named])],
    endIds: special.endIds,
    warnings: [
      ...special.warnings,
      ...(lacksFirst
        ? [`the chat template does not write ${show(first)}, which llama.cpp puts before every prompt`]
        : []),
      ...(raw['tokenizer.ggml.add_eos_token']
        ? ['tokenizer.ggml.add_eos_token: a prompt goes on, so nothing is put after it']
        : []),
      ...tokenFaults(template, (token) => ids.has(token)),
      ...[...metadata].flatMap(([key, value]) =>
        key.startsWith('tokenizer.') && value !== false && !isKnown(key) ? [`${key} is not read`] : [],
      ),
    ],
  };
}

const ofName = (name: string, template: string) => ({ name, template });

interface Kind {
  readonly begins: boolean;
  readonly parts: Readonly<Record<'normalizer' | 'pre_tokenizer' | 'decoder', unknown>>;
  readonly model: Readonly<Record<string, unknown>> & {
    readonly merges: readonly (readonly [string, string])[];
  };
}

function byteLevel(raw: Raw, ids: ReadonlyMap<string, number>, file: string): Kind {
  const name = raw['tokenizer.ggml.pre'];
  const pre = name === undefined ? undefined : PRE_TOKENIZERS.get(name);
  if (!pre) {
    const problem = name === undefined ? 'is missing' : `${show(name)} is not supported`;
    const words = `${problem} (supported: ${[...PRE_TOKENIZERS.keys()].join(', ')})`;
    throw new ModelError(file, 'tokenizer.ggml.pre', words);
  }
  const merges = raw['tokenizer.ggml.merges'];
  if (!merges) throw new ModelError(file, 'tokenizer.ggml.merges', 'is missing');
  const pairs = merges.map((merge, i) => {
    const space = merge.indexOf(' ', 1);
    const [left, right] = [merge.slice(0, Math.max(0, space)), merge.slice(space + 1)];
    const missing = [left, right, left + right].find((token) => !ids.has(token));
    if (missing === undefined) return [left, right] as const;
    throw new ModelError(file, `tokenizer.ggml.merges[${i}]`, `${show(merge)}: ${show(missing)} is no token`);
  });
  return {
    begins: pre.begins,
    parts: {
      normalizer: null,
      pre_tokenizer: preTokenizer(pre),
      decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    },
    model: { merges: pairs, ignore_merges: pre.ignoreMerges },
  };
}

interface Pieces {
  readonly tokens: readonly string[];
  readonly types: readonly number[];
  readonly unknown: string | null;
}

function sentencePiece(raw: Raw, { tokens, types, unknown }: Pieces, file: string): Kind {
  const scores = raw['tokenizer.ggml.scores'];
  if (!scores) throw new ModelError(file, 'tokenizer.ggml.scores', 'is missing');
  const mergeable = tokens.map((_, i) => types[i] === NORMAL || types[i] === USER_DEFINED);
  const spaced = raw['tokenizer.ggml.add_space_prefix'] ?? true;
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
  return {
    begins: true,
    parts: {
      normalizer: spaced
        ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, replace] }
        : replace,
      pre_tokenizer: null,
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          ...(spaced ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
        ],
      },
    },
    model: {
      merges: mergesByScore({ tokens, scores, mergeable }, file),
      unk_token: unknown,
      fuse_unk: true,
      byte_fallback: true,
    },
  };
}

function idsOf(tokens: readonly string[], file: string): ReadonlyMap<string, number> {
  const ids = new Map<string, number>();
  for (const [i, token] of tokens.entries()) {
    const other = ids.get(token);
    if (other !== undefined) {
      throw new ModelError(file, `tokenizer.ggml.tokens[${i}]`, `${show(token)} is also token ${other}`);
    }
    ids.set(token, i);
  }
  return ids;
}

const beginsWith = (content: string, id: number) => ({
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: content, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
  pair: [],
  special_tokens: { [content]: { id: content, ids: [id], tokens: [content] } },
});
