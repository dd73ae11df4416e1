import { open } from 'node:fs/promises';
import * as ort from 'onnxruntime-node';
import { decodeElements, encodeElements } from '../../checkpoint/elements.js';
import { type ExternalTensor, Graph } from '../../onnx/graph.js';
import type { ElementType } from '../../onnx/onnx-types.js';
import { type FinishedGraph, weightsAsInputs } from '../../onnx/weights-as-inputs.js';
import {
  type Feeds,
  type OpenedGraph,
  openSession,
  type Session,
  type SessionOptions,
} from '../ort-session.js';

type DeviceType = Extract<ElementType, ort.Tensor.GpuBufferDataTypes>;

/** The weights of a model on a GPU, through WebGPU: once, however many graphs use them. */
export class DeviceWeights {
  readonly #options: SessionOptions;
  /** By what is read: type and place in a file, or its name. */
  readonly #loaded = new Map<string, ort.Tensor>();
  /** Sessions that copy tensors of a type to the device. A tensor lives as long as its session is open. */
  readonly #loaders = new Map<DeviceType, Session>();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Opens a graph that is given these weights at each run. @throws Error of onnxruntime, or of the file */
  async open(finished: FinishedGraph): Promise<OpenedGraph> {
    const { graph, weights } = weightsAsInputs(finished);
    const feeds: Record<string, ort.Tensor> = {};
    // WebGPU takes one call at a time.
    for (const weight of weights) feeds[weight.name] = await this.#tensor(weight);
    const session = await openSession(graph, this.#options);
    return {
      inputNames: session.inputNames.filter((name) => !Object.hasOwn(feeds, name)),
      outputNames: session.outputNames,
      run: (more: Feeds, fetches) => session.run({ ...more, ...feeds }, fetches),
      endProfiling: () => session.endProfiling(),
    };
  }

  /** A weight in its shape: what graphs read in several shapes is there once. */
  async #tensor(weight: ExternalTensor): Promise<ort.Tensor> {
    const { name, type, file, offset, byteLength, shape } = weight;
    const key = weight.values ? name : `${type} ${file} ${offset} ${byteLength}`;
    const loaded = this.#loaded.get(key) ?? (await this.#load(weight));
    this.#loaded.set(key, loaded);
    return ort.Tensor.fromGpuBuffer(loaded.gpuBuffer, { dataType: loaded.type as DeviceType, dims: shape });
  }

  async #load(weight: ExternalTensor): Promise<ort.Tensor> {
    const stored = weight.values
      ? await unpacked(weight.shape, weight.values())
      : tensorOf(weight.type, await bytesOf(weight));
    const loader = await this.#loader(stored.type as DeviceType);
    const { weight: loaded } = await loader.run({ stored });
    if (!loaded) throw new Error(`${weight.name}: was not brought to the device`);
    return loaded;
  }

  async #loader(type: DeviceType): Promise<Session> {
    const known = this.#loaders.get(type);
    if (known) return known;
    const g = new Graph();
    g.output('weight', g.op('Identity', [g.input('stored', type, ['size'])]));
    const loader = await openSession(g, { threads: this.#options.threads, keepOnDevice: true });
    this.#loaders.set(type, loader);
    return loader;
  }
}

/** Bytes that are read at once: a read of 2 GiB or more is refused. */
const CHUNK = 1 << 26;

async function bytesOf({ name, file, offset, byteLength }: ExternalTensor): Promise<Uint8Array> {
  const bytes = new Uint8Array(byteLength);
  const handle = await open(file);
  try {
    for (let at = 0; at < byteLength; ) {
      const { bytesRead } = await handle.read(bytes, at, Math.min(CHUNK, byteLength - at), offset + at);
      if (bytesRead === 0) throw new Error(`${file}: ${name}: ends before its last element`);
      at += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

/** The elements of a weight, in the type in which {@link weightsAsInputs} takes it. */
function tensorOf(type: ElementType, bytes: Uint8Array): ort.Tensor {
  switch (type) {
    case 'float32':
      return flat('float32', decodeElements('fp32', bytes));
    case 'bfloat16':
      return flat('float32', decodeElements('bf16', bytes));
    case 'float16':
      return halves(new Uint16Array(bytes.buffer));
    case 'int8':
      return halves(
        new Uint16Array(encodeElements('fp16', Float32Array.from(new Int8Array(bytes.buffer))).buffer),
      );
    case 'int32':
      return flat('int32', new Int32Array(bytes.buffer));
    case 'uint8':
      return flat('uint8', bytes);
    default:
      throw new Error(`WebGPU is given no ${type}`);
  }
}

const flat = (type: DeviceType | 'uint16', data: ort.Tensor['data']): ort.Tensor =>
  new ort.Tensor(type, data as Float32Array, [data.length]);

/**
 * An fp16 tensor, given the bits of its elements. `new Tensor('float16', bits)` would hold a `Float16Array` on Node 24
 * and newer, which onnxruntime-node 1.30 takes for an empty one (microsoft/onnxruntime, pull request 32323).
 */
const halves = (bits: Uint16Array): ort.Tensor =>
  Object.assign(flat('uint16', bits), { type: 'float16' as const });

async function unpacked(shape: readonly number[], rows: AsyncIterable<Float32Array>): Promise<ort.Tensor> {
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
  let at = 0;
  for await (const some of rows) {
    values.set(some, at);
    at += some.length;
  }
  return flat('float32', values);
}
