import { describe, expect, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { GenerationRequest } from '#client/generation-request.js';
import type { GuardRequest, ScoringRequest } from '#client/guard-request.js';
import * as client from '#client/method-names.js';
import type { textSchema } from '#gateway/requests/generation-request.js';
import type { guardSchema } from '#gateway/requests/guard-limits.js';
import { DEFAULT_METHODS, METHODS, PROBABILITY_METHODS } from '#src/uncertainty/method-names.js';

/** Fields with their types alone: schemas are not read-only, and take `undefined`. */
type Plain<T> = { -readonly [Field in keyof T]-?: NonNullable<T[Field]> };
type Guard = z.input<typeof guardSchema>;

/** Fields whose values are read before their schema. */
type Read = 'guard' | 'messages' | 'methods' | 'metadata' | 'resumable' | 'scoring' | 'stop';

describe("the client's own types and lists", () => {
  it('are those of the schemas of requests, as the compiler checks in `npm run check`', () => {
    expectTypeOf<Plain<Omit<GuardRequest, Read>>>().toEqualTypeOf<Plain<Omit<Guard, Read>>>();
    expectTypeOf<Plain<ScoringRequest>>().toEqualTypeOf<Plain<NonNullable<Guard['scoring']>>>();
    type Fields = Exclude<keyof GenerationRequest, Read>;
    type Sent = Pick<Plain<z.input<typeof textSchema>>, Fields>;
    expectTypeOf<Pick<Plain<GenerationRequest>, Fields>>().toEqualTypeOf<Sent>();
  });

  it('are the methods of the library', () => {
    expect({ ...client }).toEqual({ DEFAULT_METHODS, METHODS, PROBABILITY_METHODS });
  });
});
