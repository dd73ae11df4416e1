import * as ort from 'onnxruntime-node';
import { z } from 'zod';
import type { TensorType, Value } from '../../onnx/types.js';
import type { Feeds } from '../ort-session.js';
import { ServerFault } from './server-fault.js';

/**
 * Requests and answers of `POST v2/models/{model}/infer` with tensors as bytes: the Open Inference Protocol v2
 * (github.com/kserve/open-inference-protocol) with Triton's binary tensor data extension
 * (triton-inference-server/server, docs/protocol/extension_binary_data.md). JSON comes first, then the tensors in its
 * order: little-endian, row by row.
 */
export interface InferRequest {
  /** Of the JSON, for the header `Inference-Header-Content-Length`. */
  readonly headerBytes: number;
  /** JSON and tensors. They are views: nothing is copied. */
  readonly parts: readonly Uint8Array[];
}

const DATATYPES: Readonly<Record<string, string>> = { float32: 'FP32', int64: 'INT64' };
const ELEMENT_BYTES: Readonly<Record<string, number>> = { float32: 4, int64: 8 };

/** @throws Error for an element type that flinch's graphs have not at their edges */
export function datatypeOf(type: string): string {
  const datatype = DATATYPES[type];
  if (datatype === undefined) throw new Error(`${type} tensors are not sent to inference servers`);
  return datatype;
}

/** A tensor in pieces that follow each other. */
export interface PartedTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly parts: readonly Uint8Array[];
}

export function encodeInfer(
  inputs: ReadonlyMap<string, PartedTensor>,
  outputs: readonly string[],
): InferRequest {
  const header = {
    inputs: Array.from(inputs, ([name, { type, dims, parts }]) => ({
      name,
      shape: dims,
      datatype: datatypeOf(type),
      parameters: { binary_data_size: parts.reduce((sum, { byteLength }) => sum + byteLength, 0) },
    })),
    outputs: outputs.map((name) => ({ name, parameters: { binary_data: true } })),
    parameters: { binary_data_output: true },
  };
  const json = Buffer.from(JSON.stringify(header));
  const tensors = [...inputs.values()].flatMap(({ parts }) => parts);
  return { headerBytes: json.byteLength, parts: [json, ...tensors] };
}

/**
 * Keys and values of a cache are sent as far as the run reads them, not with the room that the cache has to grow.
 * Each piece is a view of one head.
 */
export function partTensors(feeds: Feeds): Map<string, PartedTensor> {
  const sizeOf = (name: string): number => feeds[name]?.dims[0] ?? 0;
  return new Map(
    Object.entries(feeds).map(([name, { type, dims, data }]) => {
      if (!ArrayBuffer.isView(data)) throw new Error(`${name}: ${type} tensors are not sent`);
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      const sequence = /^(?:key|value)\.(\d+)\./.exec(name)?.[1];
      if (sequence === undefined) return [name, { type, dims, parts: [bytes] }];
      const [one, heads, capacity, headDim] = dims as readonly [number, number, number, number];
      const held = sizeOf(`past_positions.${sequence}`) + sizeOf(`inner_positions.${sequence}`);
      const row = headDim * ELEMENT_BYTES[type]!;
      const parts = Array.from({ length: heads }, (_, head) =>
        bytes.subarray(head * capacity * row, (head * capacity + held) * row),
      );
      return [name, { type, dims: [one, heads, held, headDim], parts }];
    }),
  );
}

/** The sizes that a run gives to the names in a graph's shapes. */
export function sizesOf(
  inputs: readonly Value[],
  tensors: ReadonlyMap<string, PartedTensor>,
): Map<string, number> {
  return new Map(
    inputs.flatMap(({ name, shape }) =>
      shape.flatMap((dim, axis) => {
        const size = tensors.get(name)?.dims[axis];
        return typeof dim === 'string' && size !== undefined ? [[dim, size] as const] : [];
      }),
    ),
  );
}

/** What an output must be. */
export interface ExpectedTensor {
  readonly type: TensorType['type'];
  readonly dims: readonly number[];
}

export const byteLengthOf = ({ type, dims }: ExpectedTensor): number =>
  dims.reduce((product, size) => product * size, ELEMENT_BYTES[type] ?? 0);

const answerSchema = z.object({
  model_name: z.string().optional(),
  outputs: z.array(
    z.object({
      name: z.string(),
      shape: z.array(z.int().min(0)),
      datatype: z.string(),
      parameters: z.object({ binary_data_size: z.int().min(0) }),
    }),
  ),
});

/**
 * Reads an answer, and checks that it is what was asked for, to the byte.
 * @param headerBytes by the header `Inference-Header-Content-Length`
 * @throws ServerFault
 */
export function decodeInfer(
  body: Buffer,
  headerBytes: number,
  model: string,
  expected: ReadonlyMap<string, ExpectedTensor>,
): Record<string, ort.Tensor> {
  const answer = parseAnswer(body.subarray(0, headerBytes));
  if (answer.model_name !== undefined && answer.model_name !== model) {
    throw new ServerFault(`the answer is of another model than ${model}`);
  }
  const tensors: Record<string, ort.Tensor> = {};
  let offset = headerBytes;
  for (const { name, shape, datatype, parameters } of answer.outputs) {
    const from = offset;
    offset += parameters.binary_data_size;
    const wanted = expected.get(name);
    if (!wanted) continue;
    if (name in tensors) throw new ServerFault(`${name} is there twice`);
    if (datatype !== datatypeOf(wanted.type)) throw new ServerFault(`${name} is of type ${datatype}`);
    const same =
      shape.length === wanted.dims.length && shape.every((size, axis) => size === wanted.dims[axis]);
    if (!same) throw new ServerFault(`${name} has shape [${shape}] instead of [${wanted.dims}]`);
    if (parameters.binary_data_size !== byteLengthOf(wanted)) {
      throw new ServerFault(`${name} has ${parameters.binary_data_size} bytes`);
    }
    if (offset > body.byteLength) throw new ServerFault('the answer is too short');
    tensors[name] = tensorOf(name, wanted, body.subarray(from, offset));
  }
  if (offset !== body.byteLength)
    throw new ServerFault(`the answer has ${body.byteLength - offset} bytes too many`);
  for (const name of expected.keys()) if (!(name in tensors)) throw new ServerFault(`${name} is missing`);
  return tensors;
}

function parseAnswer(json: Buffer): z.output<typeof answerSchema> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json.toString());
  } catch {
    throw new ServerFault('the answer is not JSON');
  }
  const result = answerSchema.safeParse(parsed);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new ServerFault(`${path.join('.') || 'the answer'}: ${message}`);
}

/** A copy: the bytes of a tensor in an answer begin anywhere. */
function tensorOf(name: string, { type, dims }: ExpectedTensor, bytes: Buffer): ort.Tensor {
  const { buffer } = Uint8Array.from(bytes);
  if (type === 'int64') return new ort.Tensor('int64', new BigInt64Array(buffer), dims);
  const floats = new Float32Array(buffer);
  if (!floats.every(Number.isFinite)) throw new ServerFault(`${name} has numbers that are not finite`);
  return new ort.Tensor('float32', floats, dims);
}
