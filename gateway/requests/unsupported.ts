import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** A field of OpenAI's that flinch knows and does not do: its neutral values pass, others are refused. */
export const unsupported = (...neutral: unknown[]) =>
  z
    .unknown()
    .refine((value) => value === null || neutral.some((other) => isDeepStrictEqual(value, other)), {
      error: 'is not supported',
      params: { unsupported: true },
    })
    .meta({ enum: [null, ...neutral] })
    .optional();
