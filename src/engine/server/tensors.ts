import * as ort from 'onnxruntime-node';
import type { TensorType, Value } from '../../onnx/onnx-types.js';
import type { Feeds } from '../ort-session.js';
import type { Signature } from './served-graphs.js';
import { ServerFault } from './server-fault.js';

const DATATYPES: Readonly<Record<string, string>> = { float32: 'FP32', int64: 'INT64' };
const ELEMENT_BYTES: Readonly<Record<string, number>> = { float32: 4, int64: 8 };

/** @throws Error for an element type that flinch's graphs have not at their edges */
export function datatypeOf(type: string): string {
  const datatype = DATATYPES[type];
  if (datatype === undefined) throw new Error(`${type} tensors are not sent to inference servers`);
  return datatype;
}

/** A tensor as it is sent. */
export interface SentTensor {
  readonly type: string;
  readonly dims: readonly number[];
  /** A view: nothing is copied. */
  readonly bytes: Uint8Array;
}

export function sentTensors(feeds: Feeds): Map<string, SentTensor> {
  return new Map(
    Object.entries(feeds).map(([name, { type, dims, data }]) => {
      if (!ArrayBuffer.isView(data)) throw new Error(`${name}: ${type} tensors are not sent`);
      return [name, { type, dims, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) }];
    }),
  );
}

/** The sizes that a run gives to the names in a graph's shapes. */
function sizesOf(inputs: readonly Value[], tensors: ReadonlyMap<string, SentTensor>): Map<string, number> {
  return new Map(
    inputs.flatMap(({ name, shape }) =>
      shape.flatMap((dim, axis) => {
        const size = tensors.get(name)?.dims[axis];
        return typeof dim === 'string' && size !== undefined ? [[dim, size] as const] : [];
      }),
    ),
  );
}

/** Tensors that a run must return. */
export function expectedTensors(
  { inputs, outputs }: Pick<Signature, 'inputs' | 'outputs'>,
  tensors: ReadonlyMap<string, SentTensor>,
  wanted: readonly string[],
): Map<string, ExpectedTensor> {
  const sizes = sizesOf(inputs, tensors);
  return new Map(
    outputs
      .filter(({ name }) => wanted.includes(name))
      .map(({ name, type, shape }) => [
        name,
        { type, dims: shape.map((dim) => (typeof dim === 'number' ? dim : sizes.get(dim)!)) },
      ]),
  );
}

/** Type and shape that an output must have. */
export interface ExpectedTensor {
  readonly type: TensorType['type'];
  readonly dims: readonly number[];
}

export const byteLengthOf = ({ type, dims }: ExpectedTensor): number =>
  dims.reduce((product, size) => product * size, ELEMENT_BYTES[type] ?? 0);

/** A tensor as a server answers it, before it is checked. */
export interface AnsweredTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** Little-endian, row by row. */
  readonly bytes: Uint8Array;
}

/**
 * Checks that an answer has the requested tensors, to the byte.
 * @throws ServerFault
 */
export function readTensors(
  model: string,
  answered: { readonly model: string | undefined; readonly outputs: Iterable<AnsweredTensor> },
  expected: ReadonlyMap<string, ExpectedTensor>,
): Record<string, ort.Tensor> {
  if (answered.model !== undefined && answered.model !== model) {
    throw new ServerFault(`the answer is of another model than ${model}`);
  }
  const tensors: Record<string, ort.Tensor> = {};
  for (const { name, shape, datatype, bytes } of answered.outputs) {
    const wanted = expected.get(name);
    if (!wanted) continue;
    if (name in tensors) throw new ServerFault(`${name} is there twice`);
    if (datatype !== datatypeOf(wanted.type)) throw new ServerFault(`${name} is of type ${datatype}`);
    const same =
      shape.length === wanted.dims.length && shape.every((size, axis) => size === wanted.dims[axis]);
    if (!same) throw new ServerFault(`${name} has shape [${shape}] instead of [${wanted.dims}]`);
    if (bytes.byteLength !== byteLengthOf(wanted))
      throw new ServerFault(`${name} has ${bytes.byteLength} bytes`);
    tensors[name] = tensorOf(name, wanted, bytes);
  }
  for (const name of expected.keys()) if (!(name in tensors)) throw new ServerFault(`${name} is missing`);
  return tensors;
}

/** A copy: the bytes of a tensor in an answer begin anywhere. */
function tensorOf(name: string, { type, dims }: ExpectedTensor, bytes: Uint8Array): ort.Tensor {
  const { buffer } = Uint8Array.from(bytes);
  if (type === 'int64') return new ort.Tensor('int64', new BigInt64Array(buffer), dims);
  const floats = new Float32Array(buffer);
  if (!floats.every(Number.isFinite)) throw new ServerFault(`${name} has numbers that are not finite`);
  return new ort.Tensor('float32', floats, dims);
}

/** @throws ServerFault for an id that is none */
export function checkIds(tensors: Readonly<Record<string, ort.Tensor>>, vocabSize: number): void {
  for (const name of ['top_ids', 'rival']) {
    const data = tensors[name]?.data;
    if (!(data instanceof BigInt64Array)) continue;
    if (data.some((id) => id < 0n || id >= BigInt(vocabSize))) {
      throw new ServerFault(`${name} has an id outside the vocabulary`);
    }
  }
}
