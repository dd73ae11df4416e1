import { describe, expect, it } from 'vitest';
import type { AnswerForm } from '#gateway/upstream/servers/dialect.js';
import { ChunkReader } from '#gateway/upstream/wire/chunk-reader.js';
import type { Chunk } from '#gateway/upstream/wire/chunks.js';
import { exchangeOf } from '../support/exchange-of.js';
import { bytesOf, CUTS, EXCHANGES, RESPONSES } from './exchange.js';

/** Chunks of a body, however its bytes come. */
async function read(pieces: Iterable<Buffer>, form: Pick<AnswerForm, 'isResponse' | 'verbatim'>) {
  const exchange = exchangeOf(pieces[Symbol.iterator]());
  const reader = new ChunkReader(exchange, { ...form, whole: false }, () => null);
  const chunks: Chunk[] = [];
  for (let more = await reader.read(); more; more = await reader.read()) chunks.push(...more);
  // What is passed on, with all digits of its numbers.
  return chunks.map((chunk) => ({ ...chunk, ...(chunk.exactly && { exactly: chunk.exactly() }) }));
}

for (const isResponse of [false, true]) {
  describe.each([false, true])(
    `chunks of ${isResponse ? 'responses' : 'chats'}, verbatim: %s`,
    (verbatim) => {
      const form = { isResponse, verbatim };
      it.each(isResponse ? RESPONSES : EXCHANGES)(
        '$name: the same, however its bytes come',
        async (exchange) => {
          const bytes = bytesOf(exchange);
          const whole = await read([bytes], form);
          expect(whole.length).toBeGreaterThan(0);
          for (const cut of Object.values(CUTS)) expect(await read(cut(bytes), form)).toEqual(whole);
        },
      );
    },
  );
}
