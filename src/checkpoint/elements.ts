export type StoredType = 'fp32' | 'bf16' | 'fp16';

export const ELEMENT_BYTES: Readonly<Record<StoredType, number>> = { fp32: 4, bf16: 2, fp16: 2 };

/** Elements of a weight as stored → numbers. Like the runtime, this takes the machine to be little-endian, as the files are. */
export function decodeElements(type: StoredType, bytes: Uint8Array): Float32Array {
  const count = bytes.byteLength / ELEMENT_BYTES[type];
  if (type === 'fp32') return new Float32Array(bytes.buffer, bytes.byteOffset, count);
  const decoded = new Float32Array(count);
  const table = tableOf(type);
  const stored = new Uint16Array(bytes.buffer, bytes.byteOffset, count);
  for (let i = 0; i < count; i += 1) decoded[i] = table[stored[i]!]!;
  return decoded;
}

const tables = new Map<StoredType, Float32Array>();

/** Table of all 65,536 elements of a 16-bit type, each converted once. */
function tableOf(type: 'bf16' | 'fp16'): Float32Array {
  let table = tables.get(type);
  if (!table) {
    table = Float32Array.from({ length: 1 << 16 }, (_, bits) =>
      type === 'fp16' ? fromFloat16(bits) : new Float32Array(Uint32Array.of(bits << 16).buffer)[0]!,
    );
    tables.set(type, table);
  }
  return table;
}

/** IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction. */
function fromFloat16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = (bits & 0x3ff) / 1024;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -14 : sign * (1 + fraction) * 2 ** (exponent - 15);
}

/** The bytes of numbers that a type holds exactly. */
export function encodeElements(type: StoredType, values: Float32Array): Uint8Array {
  if (type === 'fp32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const codes = codesOf(type);
  const stored = Uint16Array.from(values, (value) => {
    const code = codes.get(value);
    if (code === undefined) throw new Error(`${value} is no number of ${type}`);
    return code;
  });
  return new Uint8Array(stored.buffer);
}

/** Finite numbers as bytes of bf16, rounded to the nearest, ties to even. */
export function roundToBfloat16(values: Float32Array): Uint8Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const upper = Uint16Array.from(bits, (b) => (b + 0x7fff + ((b >>> 16) & 1)) >>> 16);
  return new Uint8Array(upper.buffer);
}

const codes = new Map<StoredType, ReadonlyMap<number, number>>();

/** Every number of a 16-bit type → its bits. */
function codesOf(type: 'bf16' | 'fp16'): ReadonlyMap<number, number> {
  let found = codes.get(type);
  if (!found) {
    found = new Map([...tableOf(type).entries()].reverse().map(([bits, value]) => [value, bits]));
    codes.set(type, found);
  }
  return found;
}

/** 1 bit of sign, 4 of exponent, 3 of fraction; no infinity, and NaN where all bits but the sign are set. */
export const E4M3: Float32Array = Float32Array.from({ length: 256 }, (_, bits) => {
  const sign = bits & 0x80 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 3) & 15, (bits & 7) / 8];
  if ((bits & 0x7f) === 0x7f) return Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -6 : (1 + fraction) * 2 ** (exponent - 7));
});
