import { crc32 } from 'node:zlib';

/** A picture, and for how long it is shown. */
export interface Frame {
  /** A PNG without transparency, as browsers make them. All of an animation have the same size. */
  readonly png: Buffer;
  readonly ms: number;
}

const SIGNATURE_BYTES = 8;

/**
 * Pictures as one animated PNG, which browsers show as they show any picture (PNG specification, third edition, 11.3.4). It
 * shows the first frame where nothing is animated, and repeats.
 * @throws RangeError for no frames, or frames of different sizes
 */
export function animatedPng(frames: readonly Frame[]): Buffer {
  const [first] = frames;
  if (!first) throw new RangeError('frames: at least one');
  const header = dataOf(first.png, 'IHDR');
  if (frames.some(({ png }) => !dataOf(png, 'IHDR').equals(header)))
    throw new RangeError('frames: not all of the same size and kind');
  let sequence = 0;
  const pictures = frames.flatMap(({ png, ms }, i) => {
    const control = Buffer.alloc(26);
    control.writeUInt32BE(sequence++, 0);
    header.copy(control, 4, 0, 8); // width and height
    control.writeUInt16BE(ms, 20);
    control.writeUInt16BE(1000, 22);
    const data = dataOf(png, 'IDAT');
    if (i === 0) return [chunk('fcTL', control), chunk('IDAT', data)];
    const number = Buffer.alloc(4);
    number.writeUInt32BE(sequence++);
    return [chunk('fcTL', control), chunk('fdAT', Buffer.concat([number, data]))];
  });
  const animation = Buffer.alloc(8); // then how often it is repeated: without end
  animation.writeUInt32BE(frames.length);
  return Buffer.concat([
    first.png.subarray(0, SIGNATURE_BYTES),
    chunk('IHDR', header),
    chunk('acTL', animation),
    ...pictures,
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** The data of all chunks of a type. */
function dataOf(png: Buffer, type: string): Buffer {
  const found: Buffer[] = [];
  for (let at = SIGNATURE_BYTES; at < png.length; ) {
    const end = at + 8 + png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === type) found.push(png.subarray(at + 8, end));
    at = end + 4; // its checksum
  }
  return Buffer.concat(found);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
