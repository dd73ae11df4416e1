import { z } from 'zod';
import { policySchema } from '../policy/policy-schema.js';

/** What texts of a field are, for {@link ./content.ts}: without it, they are taken for secrets. */
export const plain = { content: 'plain' };
export const address = { content: 'address' };

/** A name, a path or a pattern. */
export const plainText = z.string().min(1).meta(plain);
export const seconds = (fallback: number, min = 0, max = 86_400) =>
  z.number().min(min).max(max).default(fallback);
export const port = z.int().min(0).max(65_535);
export const positive = z.int().min(1).optional();
export const count = (fallback: number, min = 1, max = 1_000_000) =>
  z.int().min(min).max(max).default(fallback);

export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .refine((url) => !URL.canParse(url) || !(new URL(url).username || new URL(url).password), {
    error: 'must not contain a password; use key_env or key_file',
  })
  .refine((url) => !url.includes('#'), { error: 'must not contain a fragment ("#"); it would not be sent' });

export const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
  .meta(plain);

/** Path of a file that holds a secret, such as a mounted one. */
export const secretFile = z.string().min(1).meta({ content: 'secretFile' });

export const guard = policySchema.optional();
