import { z } from 'zod';
import { show } from '../../files/file-errors.js';
import { oneOf, parseJson } from '../../files/json.js';
import type { Refuse } from '../rope-config.js';

const FIELD = 'quantization_config';
const METHODS = ['compressed-tensors', 'gptq', 'awq', 'fp8'] as const;

/** How the matrices of a checkpoint are quantised, as `quantization_config` of config.json says. */
export interface Quantization {
  readonly method: (typeof METHODS)[number];
  /** One of the method's formats: `pack-quantized`, `gptq_v2`, ... */
  readonly format: string;
  readonly type: 'int' | 'float';
  readonly bits: 4 | 8;
  /** Rows and columns that share a scale; `null`: all. */
  readonly block: readonly [rows: number | null, columns: number | null];
  /** Whether every zero-point is the middle of the range. */
  readonly symmetric: boolean;
  /** Whether the columns of a group may be anywhere in the matrix (act-order). */
  readonly reordered: boolean;
}

const size = z
  .int()
  .min(1)
  .max(2 ** 20);
/** -1: one group of all columns. */
const groupSize = z
  .int()
  .min(-1)
  .max(2 ** 20)
  .refine((value) => value !== 0, 'expected -1 or a size, found 0');
const bits = z.union([z.literal(4), z.literal(8)], {
  error: ({ input }) =>
    input === undefined ? 'is missing' : `${show(input)} is not supported (supported: 4, 8)`,
});
const blockSize = z.tuple([size, size]);
const no = (what: string) => z.union([z.literal(false), z.null()], `${what} is not supported`).optional();

const compressed = z.object({
  format: oneOf(['pack-quantized', 'int-quantized', 'float-quantized', 'naive-quantized']),
  config_groups: z.record(
    z.string(),
    z.object({
      weights: z.object({
        num_bits: bits,
        type: oneOf(['int', 'float']).default('int'),
        symmetric: z.boolean().default(true),
        strategy: oneOf(['tensor', 'channel', 'group', 'block']).nullish(),
        group_size: groupSize.nullish(),
        block_structure: blockSize.nullish(),
        actorder: z.union([oneOf(['group', 'dynamic', 'weight', 'static']), z.boolean()]).nullish(),
      }),
    }),
  ),
  sparsity_config: z.object({ format: oneOf(['dense']).default('dense') }).nullish(),
  transform_config: z
    .object({ config_groups: z.record(z.string(), z.never('is not supported')).optional() })
    .nullish(),
});

const gptqFormat = oneOf(['gptq', 'gptq_v2']);
const gptq = z.object({
  bits,
  group_size: groupSize,
  desc_act: z.boolean().default(false),
  sym: z.boolean().default(true),
  checkpoint_format: gptqFormat.nullish(),
  format: gptqFormat.nullish(),
  pack_dtype: oneOf(['int32']).nullish(),
  // GPTQModel: settings of modules by pattern; `-:` leaves them as they are.
  dynamic: z
    .record(z.string(), z.unknown())
    .refine(
      (settings) => Object.keys(settings).every((pattern) => pattern.startsWith('-:')),
      'modules with settings of their own are not supported',
    )
    .nullish(),
  is_marlin_format: no('Marlin'),
});

const awq = z.object({
  bits: z.literal(4, { error: ({ input }) => `${show(input)} is not supported (supported: 4)` }),
  group_size: groupSize,
  version: oneOf(['gemm']).default('gemm'),
  zero_point: z.literal(true, 'only true is supported').default(true),
});

const fp8 = z.object({
  fmt: oneOf(['e4m3']).default('e4m3'),
  weight_block_size: blockSize.nullish(),
});

/**
 * Reads `quantization_config`.
 * @throws ModelError naming the field
 */
export function parseQuantization(json: unknown, file: string, refuse: Refuse): Quantization | null {
  if (json === undefined || json === null) return null;
  const parse = <T extends z.ZodType>(schema: T) => parseJson(schema, json, file, [FIELD]);
  const { quant_method: method } = parse(z.object({ quant_method: oneOf(METHODS) }));
  switch (method) {
    case 'compressed-tensors':
      return { method, ...ofCompressed(parse(compressed), refuse) };
    case 'gptq': {
      const { group_size, sym, desc_act, ...raw } = parse(gptq);
      const format = raw.checkpoint_format ?? raw.format ?? 'gptq';
      const block = [1, grouped(group_size)] as const;
      return { method, format, type: 'int', bits: raw.bits, block, symmetric: sym, reordered: desc_act };
    }
    case 'awq': {
      const { group_size, version } = parse(awq);
      const block = [1, grouped(group_size)] as const;
      return { method, format: version, type: 'int', bits: 4, block, symmetric: false, reordered: false };
    }
    case 'fp8': {
      const { fmt, weight_block_size } = parse(fp8);
      const block = weight_block_size ?? ([null, null] as const);
      return { method, format: fmt, type: 'float', bits: 8, block, symmetric: true, reordered: false };
    }
  }
}

const grouped = (columns: number): number | null => (columns === -1 ? null : columns);

function ofCompressed(
  { format, config_groups: groups }: z.output<typeof compressed>,
  refuse: Refuse,
): Omit<Quantization, 'method'> {
  const [first, ...others] = Object.entries(groups);
  if (!first) return refuse(`${FIELD}.config_groups`, 'is empty');
  const [name, { weights }] = first;
  const other = others.find(([, group]) => JSON.stringify(group.weights) !== JSON.stringify(weights));
  if (other)
    refuse(`${FIELD}.config_groups.${other[0]}.weights`, `differs from ${name}, which is not supported`);
  const at = `${FIELD}.config_groups.${name}.weights`;
  const { num_bits, type, symmetric, group_size: size, actorder } = weights;
  const packed = format === 'pack-quantized';
  const only = { 'float-quantized': 'float', 'naive-quantized': type }[format as string] ?? 'int';
  if (type !== only) refuse(`${at}.type`, `${show(type)} is not supported for ${format}`);
  if (!packed && num_bits !== 8) refuse(`${at}.num_bits`, `${num_bits} is not supported for ${format}`);
  if (type === 'float' && !symmetric) refuse(`${at}.symmetric`, 'false is not supported for floats');
  const strategy = weights.strategy ?? (size == null ? 'tensor' : size === -1 ? 'channel' : 'group');
  if (packed && strategy !== 'group' && strategy !== 'channel') {
    refuse(`${at}.strategy`, `${show(strategy)} is not supported for ${format} (supported: channel, group)`);
  }
  const block = {
    tensor: () => [null, null] as const,
    channel: () => [1, null] as const,
    group: () => [1, size == null || size === -1 ? refuse(`${at}.group_size`, 'is missing') : size] as const,
    block: () => weights.block_structure ?? refuse(`${at}.block_structure`, 'is missing'),
  }[strategy]();
  const reordered = actorder === true || actorder === 'group' || actorder === 'dynamic';
  if (type === 'float' && reordered)
    refuse(`${at}.actorder`, `${show(actorder)} is not supported for floats`);
  return { format, type, bits: num_bits, block, symmetric, reordered };
}
