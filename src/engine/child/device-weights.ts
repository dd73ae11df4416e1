import { open } from 'node:fs/promises';
import * as ort from 'onnxruntime-node';
import { decodeElements } from '../../checkpoint/elements.js';
import { type ExternalTensor, Graph } from '../../onnx/graph.js';
import { type FinishedGraph, weightsAsInputs } from '../../onnx/weights-as-inputs.js';
import {
  type Feeds,
  type OpenedGraph,
  openSession,
  type Session,
  type SessionOptions,
} from '../ort-session.js';

/** The weights of a model on a GPU, through WebGPU: once, however many graphs use them. */
export class DeviceWeights {
  readonly #options: SessionOptions;
  readonly #tensors = new Map<string, ort.Tensor>();
  /**
   * Sessions that copy tensors of a type and rank to the device. A tensor lives as long as its session is
   * open.
   */
  readonly #loaders = new Map<string, Session>();

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

  async #tensor(weight: ExternalTensor): Promise<ort.Tensor> {
    const known = this.#tensors.get(weight.name);
    if (known) return known;
    const stored = weight.values
      ? await unpacked(weight.shape, weight.values())
      : tensorOf(weight, await bytesOf(weight));
    const loader = await this.#loader(stored.type === 'float16' ? 'float16' : 'float32', weight.shape.length);
    const { weight: loaded } = await loader.run({ stored });
    if (!loaded) throw new Error(`${weight.name}: was not brought to the device`);
    this.#tensors.set(weight.name, loaded);
    return loaded;
  }

  async #loader(type: 'float16' | 'float32', rank: number): Promise<Session> {
    const key = `${type} ${rank}`;
    const known = this.#loaders.get(key);
    if (known) return known;
    const g = new Graph();
    const shape = Array.from({ length: rank }, (_, axis) => `size ${axis}`);
    g.output('weight', g.op('Identity', [g.input('stored', type, shape)]));
    const loader = await openSession(g, { threads: this.#options.threads, keepOnDevice: true });
    this.#loaders.set(key, loader);
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

function tensorOf({ type, shape }: ExternalTensor, bytes: Uint8Array): ort.Tensor {
  if (type === 'float16') return new ort.Tensor('float16', new Uint16Array(bytes.buffer), shape);
  return new ort.Tensor('float32', decodeElements(type === 'bfloat16' ? 'bf16' : 'fp32', bytes), shape);
}

async function unpacked(shape: readonly number[], rows: AsyncIterable<Float32Array>): Promise<ort.Tensor> {
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
  let at = 0;
  for await (const some of rows) {
    values.set(some, at);
    at += some.length;
  }
  return new ort.Tensor('float32', values, shape);
}
