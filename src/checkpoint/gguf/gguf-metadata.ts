import { z } from 'zod';
import { ModelError } from '../../files/file-errors.js';
import { oneOf, parseJson } from '../../files/json.js';
import { FAMILIES, type FamilyTraits } from '../model-families.js';
import { ARCHITECTURE_NAMES, ARCHITECTURES, type Architecture, SCALED_BY_WIDTH } from './architectures.js';
import type { GgufHeader } from './header.js';

const number = z.number();
const one = z.literal(1, 'is not supported (supported: 1)');
/** Keys of `ARCHITECTURE.*`. Sizes are checked as those of config.json. */
const schema = z.object({
  block_count: number,
  context_length: number,
  embedding_length: number,
  feed_forward_length: number,
  expert_count: z.literal(0, 'mixtures of experts are not supported').optional(),
  'attention.head_count': number,
  'attention.head_count_kv': number.optional(),
  'attention.key_length': number.optional(),
  'attention.value_length': number.optional(),
  'attention.layer_norm_rms_epsilon': number,
  'rope.dimension_count': number.optional(),
  'rope.freq_base': number.optional(),
  'rope.scaling.type': z.string().optional(),
  'rope.scaling.factor': number.optional(),
  'rope.scaling.original_context_length': number.optional(),
  'rope.scaling.yarn_beta_fast': number.optional(),
  'rope.scaling.yarn_beta_slow': number.optional(),
  // They multiply what YaRN does.
  'rope.scaling.yarn_ext_factor': one.optional(),
  'rope.scaling.yarn_attn_factor': one.optional(),
  'rope.scaling.attn_factor': one.optional(),
  'rope.scale_linear': one.optional(),
  // Says how the model was made.
  'rope.scaling.finetuned': z.boolean().optional(),
  'rope.freq_base_swa': number.optional(),
  'attention.sliding_window': number.optional(),
  'attention.sliding_window_pattern': number.optional(),
  attn_logit_softcapping: number.optional(),
  final_logit_softcapping: number.optional(),
});

/** Keys of other architectures, which would change the computation. */
const REFUSED = [
  ...['attention.clamp_kqv', 'attention.max_alibi_bias', 'attention.scale', 'attention.temperature_length'],
  ...['embedding_scale', 'logit_scale', 'residual_scale', 'use_parallel_residual'],
];

/** Each key changes how positions are told apart. */
const isUnknownRope = (key: string): boolean => key.startsWith('rope.') && !Object.hasOwn(schema.shape, key);

const generalSchema = z.object({
  'general.architecture': oneOf(ARCHITECTURE_NAMES),
  'split.count': z
    .int()
    .max(1, 'a file that was split is not supported; join its parts with llama-gguf-split --merge')
    .optional(),
});

export const architectureOf = ({ metadata }: Pick<GgufHeader, 'metadata'>, file: string): Architecture =>
  parseJson(generalSchema, Object.fromEntries(metadata), file)['general.architecture'];

/**
 * Contents of the config.json that describes the same model; what is undefined is not in it.
 *
 * @param rope contents of `rope_freqs.weight`, where the file has it
 * @throws ModelError naming the field
 */
export function configJson(
  { metadata, tensors }: GgufHeader,
  rope: Float32Array | null,
  file: string,
): Readonly<Record<string, unknown>> {
  const architecture = architectureOf({ metadata }, file);
  const prefix = `${architecture}.`;
  const own = [...metadata].flatMap(([key, value]) =>
    key.startsWith(prefix) ? [[key.slice(prefix.length), value] as const] : [],
  );
  const raw = parseJson(schema, Object.fromEntries(own), file, [architecture]);
  const other = own.find(([key]) => REFUSED.includes(key) || isUnknownRope(key))?.[0];
  if (other !== undefined) throw new ModelError(file, `${prefix}${other}`, 'is not supported');
  const heads = raw['attention.head_count'];
  const headDim = raw['attention.key_length'] ?? raw.embedding_length / heads;
  const values = raw['attention.value_length'] ?? headDim;
  if (values !== headDim) {
    const problem = `${values} differs from that of keys, ${headDim}`;
    throw new ModelError(file, `${prefix}attention.value_length`, problem);
  }
  const embedding = tensors.get('token_embd.weight');
  const [, rows] = embedding?.dims ?? [];
  if (rows === undefined) throw new ModelError(file, 'token_embd.weight', 'is missing, or is no matrix');
  const turned = raw['rope.dimension_count'] ?? headDim;
  const theta = raw['rope.freq_base'] ?? 10_000;
  const scaling = rope ? ropeFactors(rope, { theta, headDim }, file) : scalingOf(raw);
  const has = (name: string): boolean => tensors.has(`blk.0.${name}.bias`);
  const { family } = ARCHITECTURES[architecture];
  const traits: FamilyTraits = FAMILIES[family];
  const window = raw['attention.sliding_window'] || null;
  if (window !== null && typeof traits.sliding !== 'object') {
    const problem = `${window} is not supported for ${architecture}`;
    throw new ModelError(file, `${prefix}attention.sliding_window`, problem);
  }
  const byWidth = raw.block_count === SCALED_BY_WIDTH[architecture];
  return {
    model_type: family,
    hidden_size: raw.embedding_length,
    intermediate_size: raw.feed_forward_length,
    num_hidden_layers: raw.block_count,
    num_attention_heads: heads,
    num_key_value_heads: raw['attention.head_count_kv'] ?? heads,
    head_dim: headDim,
    vocab_size: rows,
    rms_norm_eps: raw['attention.layer_norm_rms_epsilon'],
    max_position_embeddings: raw.context_length,
    rope_theta: theta,
    rope_scaling: scaling,
    partial_rotary_factor: turned === headDim ? undefined : turned / headDim,
    rope_local_base_freq:
      traits.localTheta === null ? undefined : (raw['rope.freq_base_swa'] ?? traits.localTheta),
    sliding_window: window,
    sliding_window_pattern: raw['attention.sliding_window_pattern'],
    query_pre_attn_scalar:
      traits.queryScalar === null ? undefined : byWidth ? raw.embedding_length / heads : headDim,
    attn_logit_softcapping: raw.attn_logit_softcapping,
    final_logit_softcapping: raw.final_logit_softcapping,
    tie_word_embeddings: !tensors.has('output.weight'),
    attention_bias: traits.attentionBias === 'option' ? has('attn_q') : undefined,
    mlp_bias: traits.mlpBias === 'option' ? has('ffn_gate') : undefined,
  };
}

function scalingOf(raw: z.output<typeof schema>): Readonly<Record<string, unknown>> | undefined {
  const type = raw['rope.scaling.type'] ?? 'none';
  if (type === 'none') return undefined;
  return {
    rope_type: type,
    factor: raw['rope.scaling.factor'],
    original_max_position_embeddings: raw['rope.scaling.original_context_length'],
    beta_fast: type === 'yarn' ? raw['rope.scaling.yarn_beta_fast'] : undefined,
    beta_slow: type === 'yarn' ? raw['rope.scaling.yarn_beta_slow'] : undefined,
  };
}

/** Llama 3.1 and later; the file does not state them. */
const [LOW, HIGH] = [1, 4];
/** Positions of the first training are a power of two: 8192 in every model of Meta's. */
const ORIGINALS = Array.from({ length: 15 }, (_, i) => 2 ** (i + 6)).toSorted(
  (a, b) => Math.abs(Math.log2(a / 8192)) - Math.abs(Math.log2(b / 8192)),
);
const TOLERANCE = 1e-4;

/**
 * `rope_freqs.weight` holds what each frequency is divided by, where config.json has the four numbers of `llama3` scaling.
 *
 * @returns `rope_scaling` of config.json
 * @throws ModelError for factors that no such numbers give
 */
function ropeFactors(
  factors: Float32Array,
  { theta, headDim }: { readonly theta: number; readonly headDim: number },
  file: string,
): Readonly<Record<string, unknown>> {
  const factor = Math.max(...factors);
  const original = ORIGINALS.find(
    (positions) =>
      factors.length === headDim / 2 &&
      factors.every((found, i) => {
        const wavelength = 2 * Math.PI * theta ** ((2 * i) / headDim);
        const expected = divisor(positions / wavelength, factor);
        return Math.abs(found - expected) <= TOLERANCE * expected;
      }),
  );
  if (original === undefined) {
    const problem = 'does not hold the factors of Llama 3 scaling, the only ones supported';
    throw new ModelError(file, 'rope_freqs.weight', problem);
  }
  return {
    rope_type: 'llama3',
    factor,
    low_freq_factor: LOW,
    high_freq_factor: HIGH,
    original_max_position_embeddings: original,
  };
}

/** @param turns of the frequency over the positions of the first training */
function divisor(turns: number, factor: number): number {
  if (turns > HIGH) return 1;
  if (turns < LOW) return factor;
  const smooth = (turns - LOW) / (HIGH - LOW);
  return 1 / ((1 - smooth) / factor + smooth);
}
