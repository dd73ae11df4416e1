import type * as ort from 'onnxruntime-node';
import { z } from 'zod';
import type { Value } from '../../onnx/types.js';
import { type Answer, type Exchange, exchange } from './http-exchange.js';
import {
  byteLengthOf,
  datatypeOf,
  decodeInfer,
  type ExpectedTensor,
  encodeInfer,
  type PartedTensor,
} from './infer-message.js';
import { ServerFault } from './server-fault.js';

/** What a graph takes and gives. */
export interface Signature {
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
}

const metadataSchema = z.object({
  inputs: z.array(z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.int()) })),
  outputs: z.array(z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.int()) })),
});

type TensorMetadata = z.output<typeof metadataSchema>['inputs'][number];

/** Of JSON, beside the tensors. */
const MAX_JSON_BYTES = 2 ** 20;
/** For what is answered at once: health and metadata. */
const QUESTION_MS = 5000;

/** One address of the Open Inference Protocol v2 over HTTP. */
export class ServerAddress {
  readonly #base: URL;
  readonly #requestMs: number;

  /** @param requestMs time limit of one run */
  constructor(url: string, requestMs: number) {
    this.#base = new URL(url.endsWith('/') ? url : `${url}/`);
    this.#requestMs = requestMs;
  }

  /** @throws ServerFault unless the server and the model are ready, and the model is this graph */
  async checkModel(model: string, signature: Signature): Promise<void> {
    const question = { timeoutMs: QUESTION_MS, maxBytes: MAX_JSON_BYTES };
    await this.#ask('v2/health/ready', question);
    await this.#ask(`v2/models/${encodeURIComponent(model)}/ready`, question);
    const { body } = await this.#ask(`v2/models/${encodeURIComponent(model)}`, question);
    const metadata = metadataSchema.safeParse(parsed(body));
    if (!metadata.success) throw new ServerFault(`${model}: its metadata cannot be read`);
    for (const side of ['inputs', 'outputs'] as const) {
      const problem = difference(metadata.data[side], signature[side]);
      if (problem !== null) throw new ServerFault(`${model} is another model: ${side}: ${problem}`);
    }
  }

  /** Runs a graph once. @throws ServerFault for whatever is not its answer */
  async infer(
    model: string,
    inputs: ReadonlyMap<string, PartedTensor>,
    expected: ReadonlyMap<string, ExpectedTensor>,
  ): Promise<Record<string, ort.Tensor>> {
    const { headerBytes, parts } = encodeInfer(inputs, [...expected.keys()]);
    const tensorBytes = [...expected.values()].reduce((sum, tensor) => sum + byteLengthOf(tensor), 0);
    const { headers, body } = await this.#ask(`v2/models/${encodeURIComponent(model)}/infer`, {
      headers: {
        'content-type': 'application/octet-stream',
        'inference-header-content-length': String(headerBytes),
      },
      parts,
      timeoutMs: this.#requestMs,
      maxBytes: tensorBytes + MAX_JSON_BYTES,
    });
    const answered = Number(headers['inference-header-content-length'] ?? Number.NaN);
    if (!Number.isInteger(answered) || answered < 0 || answered > body.byteLength) {
      throw new ServerFault('the answer has no tensors in binary form');
    }
    return decodeInfer(body, answered, model, expected);
  }

  async #ask(path: string, options: Exchange): Promise<Answer> {
    const answer = await exchange(new URL(path, this.#base), options);
    if (answer.status !== 200) throw new ServerFault(`${path}: status ${answer.status}`);
    return answer;
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

/** −1 is any size. */
function difference(told: readonly TensorMetadata[], values: readonly Value[]): string | null {
  const byName = new Map(told.map((tensor) => [tensor.name, tensor]));
  for (const { name, type, shape } of values) {
    const tensor = byName.get(name);
    if (!tensor) return `${name} is missing`;
    if (tensor.datatype !== datatypeOf(type)) return `${name} is ${tensor.datatype}`;
    const fits =
      tensor.shape.length === shape.length &&
      shape.every((dim, axis) => tensor.shape[axis] === -1 || tensor.shape[axis] === dim);
    if (!fits) return `${name} has shape [${tensor.shape}]`;
    byName.delete(name);
  }
  const [extra] = byName.keys();
  return extra === undefined ? null : `${extra} is unknown`;
}
