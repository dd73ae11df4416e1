import { describe, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { CHUNK_FLINCH, COMPLETION_EVENT, WHOLE_FLINCH } from '#client/flinch-field.js';
import type { ChunkFlinch, FlinchEvent, FlinchToken, WholeFlinch } from '#client/flinch-metadata.js';
import type { EventOf, ServerEvent } from '#client/protocol-events.js';
import type { CONNECTION_EVENTS, GENERATION_EVENTS } from '#client/schemas.js';

type Schemas = typeof GENERATION_EVENTS & typeof CONNECTION_EVENTS;
/** Whether two types are identical, optional and undefined fields included. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Whether two types have the same fields, and each takes values of the other. */
type Alike<A, B> = [keyof A, A, B] extends [keyof B, B, A] ? Same<keyof A, keyof B> : false;

/** The compiler checks these, in `npm run check`. */
describe("the types of the server's messages", () => {
  it('are those of their schemas', () => {
    type Compared = { -readonly [Type in keyof Schemas]: Same<z.output<Schemas[Type]>, EventOf<Type>> };
    expectTypeOf<Compared>().toEqualTypeOf<{ [Type in ServerEvent['type']]: true }>();
    expectTypeOf<Same<{ a?: 1 }, { a?: 1 | undefined }>>().toEqualTypeOf<false>();
  });

  it('are those of the schemas of the field flinch', () => {
    expectTypeOf<FlinchEvent>().toEqualTypeOf<z.output<typeof COMPLETION_EVENT>>();
    type Token = z.output<typeof WHOLE_FLINCH>['tokens'][number];
    expectTypeOf<Pick<FlinchToken, keyof FlinchToken>>().toEqualTypeOf<Token>();
    expectTypeOf<Alike<ChunkFlinch, z.output<typeof CHUNK_FLINCH>>>().toEqualTypeOf<true>();
    expectTypeOf<Alike<WholeFlinch, z.output<typeof WHOLE_FLINCH>>>().toEqualTypeOf<true>();
  });
});
