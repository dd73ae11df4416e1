import { ModelError } from '../../files/file-errors.js';

/** The bytes that are there do not reach far enough. */
export class OutOfBytes extends Error {}

type Scalar = number | bigint | boolean | string;

/** A value of the metadata; integers beyond 2^53 stay bigints, which no field that is read may be. */
export type GgufValue = Scalar | readonly Scalar[];

const STRING = 8;
const ARRAY = 9;

/** Bytes before the weights. Those of a model with 262,144 tokens and 514,906 merges are 18 MB. */
export const MAX_HEADER = 2 ** 25;
/** Entries of a list. A byte of the file would become eight. */
export const MAX_ENTRIES = 2 ** 20;

/** Reads a GGUF header from its start. Every number that it states is checked before anything is made of it. */
export class GgufCursor {
  /** Name of the field that is being read, for messages. */
  field = '';
  position = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  /** End of the header, at most. */
  readonly #end: number;
  readonly #file: string;
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  constructor(bytes: Uint8Array, fileSize: number, file: string) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = Math.min(fileSize, MAX_HEADER);
    this.#file = file;
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** A number of things that take at least so many bytes each. */
  count(bytesEach: number, most = MAX_HEADER): number {
    const count = this.#view.getBigUint64(this.#take(8), true);
    const left = this.#end - this.position;
    if (count * BigInt(bytesEach) > left)
      this.#refuse(
        `${count} does not fit into the ${left} bytes that follow (a header has at most ${MAX_HEADER})`,
      );
    if (count > most) this.#refuse(`states ${count} entries (at most ${most})`);
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

  /**
   * @param type one of the format's 13 types of values
   * @param needed whether a list or a text is needed: otherwise a list is empty, and a text need not be UTF-8
   */
  value(type: number, needed: { readonly list: boolean; readonly text: boolean }): GgufValue {
    if (type === ARRAY) return this.#array(needed.list);
    return type === STRING && !needed.text ? this.#anyText() : this.#scalar(type);
  }

  #anyText(): string {
    const length = this.count(1);
    const start = this.#take(length);
    return new TextDecoder().decode(this.#bytes.subarray(start, start + length));
  }

  #array(listed: boolean): readonly Scalar[] {
    const type = this.u32();
    if (type === ARRAY) this.#refuse('an array of arrays is not supported');
    const bytesEach = type === STRING ? 8 : this.#typeOf(type)[0];
    const values: Scalar[] = [];
    if (!listed) {
      const count = this.count(bytesEach);
      if (type === STRING) for (let i = 0; i < count; i += 1) this.#take(this.count(1));
      else this.#take(count * bytesEach);
      return values;
    }
    const count = this.count(bytesEach, MAX_ENTRIES);
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
    const [bytes, read] = this.#typeOf(type);
    return read(this.#view, this.#take(bytes));
  }

  #typeOf(type: number): ScalarType {
    return SCALARS[type] ?? this.#refuse(`has a value of type ${type}, which the format does not have`);
  }

  #take(length: number): number {
    const start = this.position;
    if (start + length > MAX_HEADER) this.#refuse(`is not within the first ${MAX_HEADER} bytes`);
    if (start + length > this.#bytes.length) throw new OutOfBytes();
    this.position = start + length;
    return start;
  }

  #refuse(problem: string): never {
    throw new ModelError(this.#file, this.field, problem);
  }
}

type ScalarType = readonly [bytes: number, read: (view: DataView, at: number) => Scalar];

/** Types of values but strings and arrays. */
const SCALARS: Readonly<Record<number, ScalarType>> = {
  0: [1, (view, at) => view.getUint8(at)],
  1: [1, (view, at) => view.getInt8(at)],
  2: [2, (view, at) => view.getUint16(at, true)],
  3: [2, (view, at) => view.getInt16(at, true)],
  4: [4, (view, at) => view.getUint32(at, true)],
  5: [4, (view, at) => view.getInt32(at, true)],
  6: [4, (view, at) => view.getFloat32(at, true)],
  7: [1, (view, at) => view.getUint8(at) !== 0],
  10: [8, (view, at) => small(view.getBigUint64(at, true))],
  11: [8, (view, at) => small(view.getBigInt64(at, true))],
  12: [8, (view, at) => view.getFloat64(at, true)],
};

const small = (value: bigint): number | bigint =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value;
