import { describe, expect, it } from 'vitest';
import { ChunkReader } from '#gateway/upstream/wire/chunk-reader.js';
import type { Chunk } from '#gateway/upstream/wire/chunks.js';
import { exchangeOf } from '../support/exchange-of.js';
import { bytesOf, CUTS, EXCHANGES, RESPONSES } from './exchange.js';

const FORMATS = [
  [EXCHANGES, ['chunk', 'verbatim']],
  [RESPONSES, ['response', 'verbatim-response']],
] as const;

/** Chunks of a body, however its bytes come. */
async function read(
  pieces: Iterable<Buffer>,
  format: (typeof FORMATS)[number][1][number],
): Promise<object[]> {
  const exchange = exchangeOf(pieces[Symbol.iterator]());
  const reader = new ChunkReader(exchange, { format, framing: 'sse' }, () => null);
  const chunks: Chunk[] = [];
  for (let more = await reader.read(); more; more = await reader.read()) chunks.push(...more);
  // What is passed on, with all digits of its numbers.
  return chunks.map((chunk) => ({ ...chunk, ...(chunk.exactly && { exactly: chunk.exactly() }) }));
}

for (const [exchanges, formats] of FORMATS) {
  describe.each(formats)('chunks of format %s', (format) => {
    it.each(exchanges)('$name: the same, however its bytes come', async (exchange) => {
      const bytes = bytesOf(exchange);
      const whole = await read([bytes], format);
      expect(whole.length).toBeGreaterThan(0);
      for (const cut of Object.values(CUTS)) expect(await read(cut(bytes), format)).toEqual(whole);
    });
  });
}
