import { z } from 'zod';
import { guardFields } from '../../src/guard/guard-fields.js';
import { askedGuardSchema } from '../requests/guard-limits.js';

/** Every field of the guard. */
export const GUARD_FIELDS = z.strictObject(guardFields).keyof().options;

const locked = z.array(z.enum(GUARD_FIELDS, { error: 'is not a field of the guard' }), {
  error: 'must be a list of fields of the guard, or all',
});

/** The operator's policy for the guard, at one place of the configuration. */
export const policySchema = z
  .strictObject({
    name: z
      .string()
      .meta({ content: 'plain' })
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,127}$/, {
        error: 'must be 1 to 128 letters, digits, "_", ".", ":", "@", "/" or "-"',
      })
      .refine((name) => name !== 'none', { error: 'must not be "none", which stands for no policy' })
      .optional()
      .describe(
        'Name of the policy in responses, errors and metrics (default: `gateway`, `model:NAME` or `key:NAME`, after its place).',
      ),
    defaults: askedGuardSchema
      .prefault({})
      .meta({ content: 'plain' })
      .describe(
        'Values of fields of the guard that a request does not set; any field of `guard` in a request.',
      ),
    locked: z
      .preprocess((value) => (value === 'all' ? GUARD_FIELDS : value), locked)
      .prefault([])
      .meta({ content: 'plain' })
      .describe('Fields that a request must not change, or `all`.'),
    bounds: z
      .strictObject({
        min_rate: guardFields.rate.unwrap().optional().describe('Smallest `rate` that a request may set.'),
        max_rollbacks: guardFields.max_rollbacks
          .unwrap()
          .optional()
          .describe('Largest `max_rollbacks` that a request may set.'),
        max_candidates: guardFields.candidates
          .unwrap()
          .optional()
          .describe('Largest `candidates` that a request may set.'),
      })
      .prefault({})
      .describe('Limits for fields that a request may set.'),
    unscored: z
      .enum(['refuse', 'pass'])
      .optional()
      .describe(
        'Text that nothing scores, and requests that could hide it: they are refused, and a response ends before its first token without a score (`refuse`), or they pass (`pass`). Default: `refuse` where `enabled` or `action` is locked, otherwise `pass`; but with any lock, fields and paths that flinch does not know are refused unless this is `pass`.',
      ),
  })
  .describe("The operator's policy: defaults, locked fields and bounds of the guard.");

export type PolicyConfig = z.output<typeof policySchema>;
