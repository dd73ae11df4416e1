import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decodeBlocks, GGUF_TYPES, ggufType } from '#src/checkpoint/gguf/gguf-types.js';

const base64 = z.string().transform((text) => Uint8Array.from(Buffer.from(text, 'base64')));
/** Made by `blocks.py` with ggml's own Python. */
const blocks = z
  .record(z.string(), z.object({ blocks: base64, values: base64 }))
  .parse(JSON.parse(readFileSync('test/fixtures/gguf/blocks.json', 'utf8')));

const types = new Map(Array.from({ length: 64 }, (_, id) => ggufType(id)).map((type) => [type.name, type]));

describe('the types of GGUF', () => {
  it('has blocks of each in the fixture', () => {
    expect(Object.keys(blocks).toSorted()).toEqual(GGUF_TYPES.toSorted());
  });

  it.each(Object.entries(blocks))('%s is decoded as by ggml, to the last bit', (name, { blocks, values }) => {
    const decoded = decodeBlocks(types.get(name)!.layout!, blocks);
    expect(decoded).toEqual(new Float32Array(values.buffer));
  });

  it('knows no layout of other types', () => {
    expect(ggufType(10)).toEqual({ name: 'Q2_K', layout: null });
    expect(ggufType(4000000000)).toEqual({ name: 'type 4000000000', layout: null });
  });
});
