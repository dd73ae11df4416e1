import { ModelError } from '../../files/errors.js';

/** The bytes that are there do not reach far enough. */
export class OutOfBytes extends Error {}

type Scalar = number | bigint | boolean | string;

/** A value of the metadata; integers beyond 2^53 stay bigints, which no field that is read may be. */
export type GgufValue = Scalar | readonly Scalar[];

const STRING = 8;
const ARRAY = 9;

/** Reads a GGUF header from its start; every length is compared with the file's before anything is made of it. */
export class GgufCursor {
  /** What is being read, for messages. */
  field = '';
  position = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #fileSize: number;
  readonly #file: string;
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  constructor(bytes: Uint8Array, fileSize: number, file: string) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#fileSize = fileSize;
    this.#file = file;
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** A number of things that take at least so many bytes each. */
  count(bytesEach: number): number {
    const count = this.#view.getBigUint64(this.#take(8), true);
    const left = this.#fileSize - this.position;
    if (count * BigInt(bytesEach) > left)
      this.#refuse(`${count} does not fit into the ${left} bytes that follow`);
    return Number(count);
  }

  /** A u64 that numbers of JavaScript hold. */
  size(): number {
    const size = this.#view.getBigUint64(this.#take(8), true);
    if (size > Number.MAX_SAFE_INTEGER) this.#refuse(`${size} is too large`);
    return Number(size);
  }

  string(): string {
    return this.text(this.count(1));
  }

  text(length: number): string {
    const start = this.#take(length);
    try {
      return this.#utf8.decode(this.#bytes.subarray(start, start + length));
    } catch {
      return this.#refuse('is not UTF-8');
    }
  }

  /** @param type one of the format's 13 types of values */
  value(type: number): GgufValue {
    return type === ARRAY ? this.#array() : this.#scalar(type);
  }

  #array(): readonly Scalar[] {
    const type = this.u32();
    if (type === ARRAY) this.#refuse('an array of arrays is not supported');
    const count = this.count(type === STRING ? 8 : bytesOf(type));
    const values: Scalar[] = [];
    const field = this.field;
    for (let i = 0; i < count; i += 1) {
      this.field = `${field}[${i}]`;
      values.push(this.#scalar(type));
    }
    this.field = field;
    return values;
  }

  #scalar(type: number): Scalar {
    if (type === STRING) return this.string();
    const at = this.#take(bytesOf(type));
    switch (type) {
      case 0:
        return this.#view.getUint8(at);
      case 1:
        return this.#view.getInt8(at);
      case 2:
        return this.#view.getUint16(at, true);
      case 3:
        return this.#view.getInt16(at, true);
      case 4:
        return this.#view.getUint32(at, true);
      case 5:
        return this.#view.getInt32(at, true);
      case 6:
        return this.#view.getFloat32(at, true);
      case 7:
        return this.#view.getUint8(at) !== 0;
      case 10:
        return small(this.#view.getBigUint64(at, true));
      case 11:
        return small(this.#view.getBigInt64(at, true));
      case 12:
        return this.#view.getFloat64(at, true);
      default:
        return this.#refuse(`has a value of type ${type}, which the format does not have`);
    }
  }

  #take(length: number): number {
    const start = this.position;
    if (start + length > this.#bytes.length) throw new OutOfBytes();
    this.position = start + length;
    return start;
  }

  #refuse(problem: string): never {
    throw new ModelError(this.#file, this.field, problem);
  }
}

/** By type: 8 bits, 16, 32, a bool, 64; at least 1, also for types that are refused later. */
const bytesOf = (type: number): number => [1, 1, 2, 2, 4, 4, 4, 1, 1, 1, 8, 8, 8][type] ?? 1;

const small = (value: bigint): number | bigint =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value;
