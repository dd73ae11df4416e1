import { z } from 'zod';

/** Tokens before a text, and each list that they come from: a token may stand for several, and be there several times. */
const MAX = 16;

const template = z.object({
  type: z.literal('TemplateProcessing'),
  single: z
    .array(
      z.union([
        z.object({ SpecialToken: z.object({ id: z.string() }) }),
        z.object({ Sequence: z.unknown() }),
      ]),
    )
    .max(MAX),
  special_tokens: z.record(z.string(), z.object({ ids: z.array(z.int().min(0)).max(MAX) })),
});
const processor = z.looseObject({ type: z.string(), processors: z.array(z.unknown()).max(MAX).optional() });
const config = z.looseObject({
  add_bos_token: z.boolean().nullish(),
  add_eos_token: z.boolean().nullish(),
});

/**
 * Ids that a tokenizer puts before a text that no chat template surrounds, such as the one that begins every text
 * (tokenizers: `post_processor`; transformers: `add_bos_token`).
 *
 * @param postProcessor of tokenizer.json
 * @param configJson tokenizer_config.json
 * @returns `null` where that is not known: for a processor that we do not read, or one that the configuration contradicts
 */
export function textPrefix(postProcessor: unknown, configJson: unknown): readonly number[] | null {
  const prefix = prefixOf(postProcessor ?? null);
  const { add_bos_token: begins, add_eos_token: ends } = config.safeParse(configJson ?? {}).data ?? {};
  if (prefix === null || ends) return null;
  return begins === null || begins === undefined || begins === prefix.length > 0 ? prefix : null;
}

function prefixOf(json: unknown): readonly number[] | null {
  if (json === null) return [];
  const { type, processors = [] } = processor.safeParse(json).data ?? { type: '' };
  if (type === 'ByteLevel') return [];
  if (type === 'Sequence') {
    const parts = processors.map(prefixOf);
    return parts.every((part) => part !== null) ? parts.toReversed().flat() : null;
  }
  const { data } = template.safeParse(json);
  if (!data) return null;
  const ids: number[] = [];
  for (const [i, part] of data.single.entries()) {
    if ('Sequence' in part) return i === data.single.length - 1 ? ids : null;
    const own = data.special_tokens[part.SpecialToken.id]?.ids;
    if (!own) return null;
    ids.push(...own);
  }
  return null;
}
