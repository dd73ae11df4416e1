import { deflateSync, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { animatedPng } from '#lab/pictures/animated-png.js';

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

function chunksOf(png: Buffer): { type: string; data: Buffer }[] {
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const end = at + 8 + png.readUInt32BE(at);
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, end) });
  }
  return chunks;
}

/** A grey picture, one byte a pixel. Checksums are not looked at. */
function grey(width: number, height: number, value: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)]);
  };
  const header = Buffer.from([0, 0, 0, width, 0, 0, 0, height, 8, 0, 0, 0, 0]);
  const rows = Array.from({ length: height }, () => [0, ...Array(width).fill(value)]).flat();
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

describe('animatedPng', () => {
  it('has the frames in order, the first of them as the picture', () => {
    const png = animatedPng([
      { png: grey(2, 1, 10), ms: 100 },
      { png: grey(2, 1, 20), ms: 3000 },
    ]);
    expect(png.subarray(0, 8)).toEqual(SIGNATURE);
    const chunks = chunksOf(png);
    expect(chunks.map(({ type }) => type)).toEqual([
      ...['IHDR', 'acTL', 'fcTL', 'IDAT', 'fcTL', 'fdAT', 'IEND'],
    ]);
    const [, count, first, picture, second, later] = chunks.map(({ data }) => data);
    expect([count!.readUInt32BE(0), count!.readUInt32BE(4)]).toEqual([2, 0]);
    expect([first!.readUInt32BE(4), first!.readUInt32BE(8)]).toEqual([2, 1]);
    expect([first, second].map((each) => each!.readUInt16BE(20))).toEqual([100, 3000]);
    expect([first, second, later].map((each) => each!.readUInt32BE(0))).toEqual([0, 1, 2]);
    expect([...inflateSync(picture!)]).toEqual([0, 10, 10]);
    expect([...inflateSync(later!.subarray(4))]).toEqual([0, 20, 20]);
  });

  it('refuses no frames, and frames of other sizes', () => {
    expect(() => animatedPng([])).toThrow(RangeError);
    const frames = [grey(2, 1, 0), grey(1, 2, 0)].map((png) => ({ png, ms: 1 }));
    expect(() => animatedPng(frames)).toThrow('same size');
  });
});
