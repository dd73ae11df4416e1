import type * as ort from 'onnxruntime-node';
import {
  type InferenceRun,
  MAX_HEADER_BYTES,
  type ModelMetadata,
  metadataSchema,
  modelConfigSchema,
  QUESTION_MS,
  type ServerConnection,
  type ToldConfig,
  told,
  unlessRefused,
} from './connection.js';
import { type Answer, type Exchange, exchange } from './http-exchange.js';
import { decodeInfer, encodeInfer } from './infer-message.js';
import { Refusal, ServerFault } from './server-fault.js';
import { byteLengthOf, readTensors } from './tensors.js';

/** The Open Inference Protocol v2 over HTTP. */
export class HttpConnection implements ServerConnection {
  readonly #base: URL;
  readonly #requestMs: number;

  /** @param requestMs time limit of one run */
  constructor(url: string, requestMs: number) {
    this.#base = new URL(url.endsWith('/') ? url : `${url}/`);
    this.#requestMs = requestMs;
  }

  async ready(model: string): Promise<void> {
    await this.#question('v2/health/ready');
    await this.#question(`${pathOf(model)}/ready`);
  }

  async metadata(model: string): Promise<ModelMetadata> {
    const { body } = await this.#question(pathOf(model));
    return told(metadataSchema, () => JSON.parse(body.toString()), `the metadata of ${model}`);
  }

  async config(model: string): Promise<ToldConfig | null> {
    const answer = await unlessRefused(this.#question(`${pathOf(model)}/config`));
    const decode = (): unknown => JSON.parse(String(answer?.body));
    return answer && told(modelConfigSchema, decode, `the configuration of ${model}`);
  }

  async infer(
    model: string,
    { inputs, expected, sequence }: InferenceRun,
  ): Promise<Record<string, ort.Tensor>> {
    const { headerBytes, parts } = encodeInfer(inputs, [...expected.keys()], sequence);
    const tensorBytes = [...expected.values()].reduce((sum, tensor) => sum + byteLengthOf(tensor), 0);
    const { headers, body } = await this.#ask(`${pathOf(model)}/infer`, {
      headers: {
        'content-type': 'application/octet-stream',
        'inference-header-content-length': String(headerBytes),
      },
      parts,
      timeoutMs: this.#requestMs,
      maxBytes: tensorBytes + MAX_HEADER_BYTES,
    });
    const answered = Number(headers['inference-header-content-length'] ?? Number.NaN);
    if (!Number.isInteger(answered) || answered < 0 || answered > body.byteLength) {
      throw new ServerFault('the answer has no tensors in binary form');
    }
    return readTensors(model, decodeInfer(body, answered), expected);
  }

  #question(path: string): Promise<Answer> {
    return this.#ask(path, { timeoutMs: QUESTION_MS, maxBytes: MAX_HEADER_BYTES });
  }

  async #ask(path: string, options: Exchange): Promise<Answer> {
    const answer = await exchange(new URL(path, this.#base), options);
    if (answer.status === 200) return answer;
    const Fault = answer.status >= 400 && answer.status < 500 ? Refusal : ServerFault;
    throw new Fault(`${path}: status ${answer.status}`);
  }
}

const pathOf = (model: string): string => `v2/models/${encodeURIComponent(model)}`;
