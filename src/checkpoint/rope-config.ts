import { z } from 'zod';
import { isRecord, oneOf } from '../files/json.js';
import type { FamilyTraits } from './model-families.js';

/** Rotary position embedding: how fast which part of a head turns. */
export interface Rope {
  readonly theta: number;
  /** Number of entries of a head that are rotated, from the first; even. */
  readonly dimensions: number;
  readonly scaling: RopeScaling | null;
}

/** How rotary frequencies are stretched beyond the length that the model was first trained on. */
export type RopeScaling =
  | {
      readonly type: 'llama3';
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      /** Positions of the first training. */
      readonly originalMaxPositions: number;
    }
  | { readonly type: 'linear'; readonly factor: number }
  | {
      readonly type: 'yarn';
      readonly factor: number;
      /** Turns within the first training, above which a frequency stays and below which it is divided. */
      readonly betaFast: number;
      readonly betaSlow: number;
      /** Whether what lies between them begins and ends at whole dimensions. */
      readonly truncate: boolean;
      readonly originalMaxPositions: number;
      /** Rotated queries and keys are multiplied by it. */
      readonly attentionFactor: number;
    }
  | {
      readonly type: 'longrope';
      /** Divisors of the frequencies, in texts of at most `originalMaxPositions`. */
      readonly shortFactors: readonly number[];
      readonly originalMaxPositions: number;
      readonly attentionFactor: number;
    };

const ROPE_TYPES = ['default', 'linear', 'llama3', 'yarn', 'longrope', 'su'] as const;
const ropeType = oneOf(ROPE_TYPES).nullish();
const positive = z.number().positive();
const positions = z
  .int()
  .min(1)
  .max(2 ** 31)
  .nullish();

/** Below 1 frequencies would rise with the dimension, beyond what a number can hold. */
const theta = z.number().min(1).nullish();
const partial = z.number().positive().max(1).nullish();

const blockFields = {
  rope_type: ropeType,
  /** The name of `rope_type` before transformers 4.43. */
  type: ropeType,
  rope_theta: theta,
  factor: z.number().min(1).nullish(),
  low_freq_factor: positive.nullish(),
  high_freq_factor: positive.nullish(),
  beta_fast: positive.nullish(),
  beta_slow: positive.nullish(),
  truncate: z.boolean().nullish(),
  attention_factor: positive.nullish(),
  short_factor: z.array(z.number().min(1e-3)).nullish(),
  original_max_position_embeddings: positions,
  partial_rotary_factor: partial,
};
/** Fields that change nothing: the factors of texts that are longer than those that longrope is supported for. */
const UNREAD = ['long_factor', 'finetuned'];

/** An object with these fields alone: another would change the frequencies. */
const rotating = <Shape extends z.ZodRawShape>(fields: Shape) =>
  z.preprocess((value, context) => {
    for (const [name, given] of Object.entries(isRecord(value) ? value : {})) {
      if (given === null || Object.hasOwn(fields, name) || UNREAD.includes(name)) continue;
      context.addIssue({ code: 'custom', path: [name], message: 'is not supported' });
    }
    return value;
  }, z.object(fields));

const blockSchema = rotating(blockFields);
type Block = z.output<typeof blockSchema>;

const parametersSchema = rotating({
  ...blockFields,
  full_attention: blockSchema.nullish(),
  sliding_attention: blockSchema.nullish(),
});

/** The keys of config.json that say how to rotate. */
export const ropeKeys = {
  rope_theta: theta,
  rope_local_base_freq: theta,
  rope_scaling: parametersSchema.nullish(),
  rope_parameters: parametersSchema.nullish(),
  partial_rotary_factor: partial,
  original_max_position_embeddings: positions,
};
const keysSchema = z.object(ropeKeys);

export type Refuse = (field: string, problem: string) => never;

interface Model {
  readonly traits: Pick<FamilyTraits, 'theta' | 'localTheta' | 'partialRotary'>;
  readonly headDim: number;
  readonly maxPositions: number;
}

/**
 * transformers 5 writes `rope_parameters` with `rope_theta` inside, before that `rope_scaling` and `rope_theta`. A family
 * whose layers with a sliding window turn at other frequencies has two of them.
 *
 * @returns that of layers which attend to all positions, and that of those with a sliding window
 */
export function ropesOf(
  raw: z.output<typeof keysSchema>,
  model: Model,
  refuse: Refuse,
): { readonly full: Rope; readonly sliding: Rope } {
  const { rope_scaling: scaling, rope_parameters: parameters } = raw;
  const { theta, localTheta } = model.traits;
  const nested = parameters?.full_attention ?? parameters?.sliding_attention;
  if (localTheta === null) {
    const field = scaling ? 'rope_scaling' : 'rope_parameters';
    const block = scaling ?? parameters ?? {};
    for (const key of ['full_attention', 'sliding_attention'] as const) {
      if (block[key]) refuse(`${field}.${key}`, 'frequencies that differ between layers are not supported');
    }
    const rope = ropeOf(block, field, parameters?.rope_theta ?? raw.rope_theta ?? theta);
    return { full: rope, sliding: rope };
  }
  if (parameters && !nested) refuse('rope_parameters', 'needs full_attention and sliding_attention');
  const full = parameters?.full_attention;
  const sliding = parameters?.sliding_attention ?? {};
  return {
    full: scaling
      ? ropeOf(scaling, 'rope_scaling', full?.rope_theta ?? raw.rope_theta ?? theta)
      : ropeOf(full ?? {}, 'rope_parameters.full_attention', raw.rope_theta ?? theta),
    sliding: ropeOf(sliding, 'rope_parameters.sliding_attention', raw.rope_local_base_freq ?? localTheta),
  };

  function ropeOf(block: Block, field: string, otherwise: number): Rope {
    const type = block.rope_type ?? block.type ?? 'default';
    const share = block.partial_rotary_factor ?? raw.partial_rotary_factor ?? 1;
    if (share !== 1 && !model.traits.partialRotary) {
      refuse('partial_rotary_factor', `${share} is not supported for this family (supported: 1)`);
    }
    const dimensions = Math.floor(model.headDim * share);
    if (dimensions < 2 || dimensions % 2 !== 0) {
      refuse('partial_rotary_factor', `${share} rotates ${dimensions} dimensions, which are no pairs`);
    }
    if (type === 'default' && block.factor) {
      refuse(`${field}.factor`, 'is set, but rope_type does not say how to scale');
    }
    const scaling = type === 'default' ? null : scalingOf(type, block, field, dimensions);
    return { theta: block.rope_theta ?? otherwise, dimensions, scaling };
  }

  function scalingOf(
    type: Exclude<(typeof ROPE_TYPES)[number], 'default'>,
    block: Block,
    field: string,
    dimensions: number,
  ): RopeScaling {
    const need = <K extends keyof Block>(key: K): NonNullable<Block[K]> =>
      block[key] ?? refuse(`${field}.${key}`, `is missing, and ${type} needs it`);
    const original = block.original_max_position_embeddings ?? raw.original_max_position_embeddings;
    if (type === 'linear') return { type, factor: need('factor') };
    if (type === 'llama3') {
      const lowFreqFactor = need('low_freq_factor');
      const highFreqFactor = need('high_freq_factor');
      if (highFreqFactor <= lowFreqFactor) {
        refuse(
          `${field}.high_freq_factor`,
          `${highFreqFactor} is not above low_freq_factor, ${lowFreqFactor}`,
        );
      }
      const originalMaxPositions = need('original_max_position_embeddings');
      return { type, factor: need('factor'), lowFreqFactor, highFreqFactor, originalMaxPositions };
    }
    const originalMaxPositions = original ?? model.maxPositions;
    if (type === 'yarn') {
      const factor = need('factor');
      const [betaFast, betaSlow] = [block.beta_fast ?? 32, block.beta_slow ?? 1];
      if (betaFast <= betaSlow)
        refuse(`${field}.beta_fast`, `${betaFast} is not above beta_slow, ${betaSlow}`);
      return {
        type,
        factor,
        betaFast,
        betaSlow,
        originalMaxPositions,
        truncate: block.truncate ?? true,
        attentionFactor: block.attention_factor ?? 0.1 * Math.log(factor) + 1,
      };
    }
    const shortFactors = need('short_factor');
    if (shortFactors.length !== dimensions / 2) {
      refuse(`${field}.short_factor`, `has ${shortFactors.length} entries, expected ${dimensions / 2}`);
    }
    if (originalMaxPositions < 2) {
      refuse('original_max_position_embeddings', `${originalMaxPositions} is too few positions for longrope`);
    }
    const factor = block.factor ?? model.maxPositions / originalMaxPositions;
    const inferred = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalMaxPositions));
    const attentionFactor = block.attention_factor ?? inferred;
    return { type: 'longrope', shortFactors, originalMaxPositions, attentionFactor };
  }
}
