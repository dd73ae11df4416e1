import type * as ort from 'onnxruntime-node';
import { z } from 'zod';
import {
  type InferenceRun,
  MAX_HEADER_BYTES,
  type ModelMetadata,
  metadataSchema,
  modelConfigSchema,
  parsedAnswer,
  QUESTION_MS,
  type ServerConnection,
  type ToldConfig,
  unlessRefused,
} from './connection.js';
import { type Exchange, exchange, type HttpAnswer } from './http-exchange.js';
import { Refusal, ServerFault } from './server-fault.js';
import { type AnsweredTensor, byteLengthOf, datatypeOf, readTensors } from './tensors.js';

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
 * The Open Inference Protocol v2 over HTTP (github.com/kserve/open-inference-protocol) with Triton's binary tensor data
 * extension (triton-inference-server/server, docs/protocol/extension_binary_data.md) and, for sequences,
 * extension_sequence.md. JSON comes first, then the tensors in its order: little-endian, row by row.
 */
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
    return parsedAnswer(metadataSchema, () => JSON.parse(body.toString()), `the metadata of ${model}`);
  }

  async config(model: string): Promise<ToldConfig | null> {
    const answer = await unlessRefused(this.#question(`${pathOf(model)}/config`));
    const decode = (): unknown => JSON.parse(String(answer?.body));
    return answer && parsedAnswer(modelConfigSchema, decode, `the configuration of ${model}`);
  }

  async infer(
    model: string,
    { inputs, expected, sequence }: InferenceRun,
  ): Promise<Record<string, ort.Tensor>> {
    const header = {
      inputs: Array.from(inputs, ([name, { type, dims, bytes }]) => ({
        name,
        shape: dims,
        datatype: datatypeOf(type),
        parameters: { binary_data_size: bytes.byteLength },
      })),
      outputs: Array.from(expected.keys(), (name) => ({ name, parameters: { binary_data: true } })),
      parameters: {
        binary_data_output: true,
        ...(sequence && {
          sequence_id: sequence.id,
          sequence_start: sequence.start,
          sequence_end: sequence.end,
        }),
      },
    };
    const json = Buffer.from(JSON.stringify(header));
    const tensorBytes = [...expected.values()].reduce((sum, tensor) => sum + byteLengthOf(tensor), 0);
    const { headers, body } = await this.#ask(`${pathOf(model)}/infer`, {
      headers: {
        'content-type': 'application/octet-stream',
        'inference-header-content-length': String(json.byteLength),
      },
      parts: [json, ...Array.from(inputs.values(), ({ bytes }) => bytes)],
      timeoutMs: this.#requestMs,
      maxBytes: tensorBytes + MAX_HEADER_BYTES,
    });
    const answered = Number(headers['inference-header-content-length'] ?? Number.NaN);
    if (!Number.isInteger(answered) || answered < 0 || answered > body.byteLength) {
      throw new ServerFault('the answer has no tensors in binary form');
    }
    return readTensors(model, decodeInfer(body, answered), expected);
  }

  #question(path: string): Promise<HttpAnswer> {
    return this.#ask(path, { timeoutMs: QUESTION_MS, maxBytes: MAX_HEADER_BYTES });
  }

  async #ask(path: string, options: Exchange): Promise<HttpAnswer> {
    const answer = await exchange(new URL(path, this.#base), options);
    if (answer.status === 200) return answer;
    const Fault = answer.status >= 400 && answer.status < 500 ? Refusal : ServerFault;
    throw new Fault(`${path}: status ${answer.status}`);
  }
}

const pathOf = (model: string): string => `v2/models/${encodeURIComponent(model)}`;

/**
 * Takes an answer apart.
 * @param headerBytes value of the header `Inference-Header-Content-Length`
 * @throws ServerFault where it is not of this form
 */
function decodeInfer(body: Buffer, headerBytes: number): Parameters<typeof readTensors>[1] {
  const { model_name, outputs } = parsedAnswer(
    answerSchema,
    () => JSON.parse(body.subarray(0, headerBytes).toString()),
    'the answer',
  );
  let offset = headerBytes;
  const tensors = outputs.map(({ parameters, ...parsedAnswer }): AnsweredTensor => {
    const from = offset;
    offset += parameters.binary_data_size;
    if (offset > body.byteLength) throw new ServerFault('the answer is too short');
    return { ...parsedAnswer, bytes: body.subarray(from, offset) };
  });
  if (offset !== body.byteLength)
    throw new ServerFault(`the answer has ${body.byteLength - offset} bytes too many`);
  return { model: model_name, outputs: tensors };
}
