import { ModelError, show } from '../../files/file-errors.js';
import { GgufCursor, type GgufValue, OutOfBytes } from './cursor.js';
import { type GgufType, ggufType } from './gguf-types.js';

export interface GgufTensor {
  readonly name: string;
  readonly type: GgufType;
  /** Dimensions in the order of the file, the row's length first: the reverse of a safetensors shape. */
  readonly dims: readonly number[];
  /** Bytes from the start of the file. */
  readonly offset: number;
  /** `null` for a type that is not read. */
  readonly byteLength: number | null;
}

export interface GgufHeader {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
  /** Bytes before the first tensor. */
  readonly byteLength: number;
}

export const GGUF_MAGIC = 'GGUF';
const VERSIONS = [2, 3];
/** The least that an entry takes: of the metadata a length, a type and a value, of the tensors also sizes and an offset. */
const ENTRY_BYTES = 13;
const TENSOR_BYTES = 24;
const MAX_ENTRIES = 2 ** 12;
const MAX_TENSORS = 2 ** 16;
const MAX_DIMS = 4;
const DEFAULT_ALIGNMENT = 32;
/** The lists that are read; of others it is only known that they are there. */
const LISTS = new Set(['tokens', 'scores', 'token_type', 'merges'].map((name) => `tokenizer.ggml.${name}`));
/** Texts about the model, such as its author's name. */
const ABOUT = /^general\.(?!architecture$)/;

/**
 * Reads everything before the weights. The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 *
 * @param bytes of the file, from its start
 * @param fileSize of the whole file, in bytes
 * @param file for messages
 * @returns `null` if more bytes of the file are needed
 * @throws ModelError naming the field that is broken, is not in the file or overlaps another
 */
export function parseGguf(bytes: Uint8Array, fileSize: number, file: string): GgufHeader | null {
  const cursor = new GgufCursor(bytes, fileSize, file);
  try {
    return parse(cursor, fileSize, file);
  } catch (error) {
    if (error instanceof OutOfBytes && bytes.length < fileSize) return null;
    if (error instanceof OutOfBytes)
      throw new ModelError(file, cursor.field, 'the file is cut off there: download it again');
    throw error;
  }
}

function parse(cursor: GgufCursor, fileSize: number, file: string): GgufHeader {
  cursor.field = 'magic';
  const magic = cursor.text(GGUF_MAGIC.length);
  if (magic !== GGUF_MAGIC)
    throw new ModelError(file, 'magic', `expected ${GGUF_MAGIC}, found ${show(magic)}`);
  cursor.field = 'version';
  const version = cursor.u32();
  if (!VERSIONS.includes(version)) {
    const problem = version % 0x10000 === 0 ? 'is that of a big-endian file' : `${version}`;
    throw new ModelError(file, 'version', `${problem} (supported: ${VERSIONS.join(', ')}, little-endian)`);
  }
  cursor.field = 'tensor_count';
  const tensorCount = cursor.count(TENSOR_BYTES, MAX_TENSORS);
  cursor.field = 'metadata_kv_count';
  const entryCount = cursor.count(ENTRY_BYTES, MAX_ENTRIES);

  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < entryCount; i += 1) {
    cursor.field = `metadata[${i}]`;
    const key = cursor.string();
    cursor.field = key === '' ? cursor.field : key;
    if (metadata.has(key)) throw new ModelError(file, cursor.field, 'is in the metadata twice');
    metadata.set(key, cursor.value(cursor.u32(), { list: LISTS.has(key), text: !ABOUT.test(key) }));
  }
  const alignment = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT;
  if (
    typeof alignment !== 'number' ||
    alignment < 8 ||
    alignment > 2 ** 20 ||
    !Number.isInteger(Math.log2(alignment))
  ) {
    const problem = `expected a power of two from 8, found ${show(alignment)}`;
    throw new ModelError(file, 'general.alignment', problem);
  }

  const described: GgufTensor[] = [];
  for (let i = 0; i < tensorCount; i += 1) {
    cursor.field = `tensors[${i}]`;
    described.push(parseTensor(cursor, alignment, file));
  }
  const byteLength = Math.ceil(cursor.position / alignment) * alignment;
  const placed = described.map((tensor) => ({ ...tensor, offset: byteLength + tensor.offset }));
  return { metadata, tensors: checkPlaces(placed, fileSize, file), byteLength };
}

/** Its offset counts from the end of the header. */
function parseTensor(cursor: GgufCursor, alignment: number, file: string): GgufTensor {
  const name = cursor.string();
  if (name !== '') cursor.field = name;
  const refuse = (problem: string): never => {
    throw new ModelError(file, cursor.field, problem);
  };
  const rank = cursor.u32();
  if (rank < 1 || rank > MAX_DIMS) refuse(`has ${rank} dimensions (supported: 1 to ${MAX_DIMS})`);
  const dims = Array.from({ length: rank }, () => cursor.size());
  const elements = dims.reduce((product, size) => product * size, 1);
  if (dims.includes(0) || !Number.isSafeInteger(elements)) refuse(`has dimensions ${show(dims)}`);
  const type = ggufType(cursor.u32());
  const offset = cursor.size();
  if (offset % alignment !== 0) refuse(`begins at ${offset}, which is no multiple of ${alignment}`);
  const { layout } = type;
  if (layout === null) return { name, type, dims, offset, byteLength: null };
  if (dims[0]! % layout.elements !== 0) {
    refuse(`has rows of ${dims[0]}, but ${type.name} is stored in blocks of ${layout.elements}`);
  }
  return { name, type, dims, offset, byteLength: (elements / layout.elements) * layout.bytes };
}

function checkPlaces(
  tensors: readonly GgufTensor[],
  fileSize: number,
  file: string,
): ReadonlyMap<string, GgufTensor> {
  const found = new Map<string, GgufTensor>();
  let [end, before] = [0, ''];
  for (const tensor of tensors.toSorted((a, b) => a.offset - b.offset)) {
    const { name, offset } = tensor;
    if (found.has(name)) throw new ModelError(file, name === '' ? 'tensors' : name, 'is in the file twice');
    found.set(name, tensor);
    const byteLength = tensor.byteLength ?? 0;
    if (offset < end) throw new ModelError(file, name || 'tensors', `overlaps ${show(before)}`);
    [end, before] = [offset + byteLength, name];
  }
  if (end > fileSize) {
    const problem = `the file is cut off (${ofBytes(fileSize, end)}): download it again`;
    throw new ModelError(file, before || 'tensors', problem);
  }
  return found;
}

/** As people read sizes, unless both would read the same. */
function ofBytes(part: number, whole: number): string {
  const [some, all] = [Math.floor(part / 1e6), Math.ceil(whole / 1e6)];
  return all > 1 && some < all - 1 ? `${some} of ${all} MB` : `${part} of ${whole} bytes`;
}
