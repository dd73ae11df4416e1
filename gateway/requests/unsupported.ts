import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** A field of OpenAI's API that flinch does not support: neutral values are accepted, others are refused. */
export const unsupported = (...neutral: unknown[]) =>
  z
    .unknown()
    .refine((value) => value === null || neutral.some((other) => isDeepStrictEqual(value, other)), {
      error: 'is not supported',
      params: { unsupported: true },
    })
    .meta({ enum: [null, ...neutral] })
    .optional();
