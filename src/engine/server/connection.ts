import type * as ort from 'onnxruntime-node';
import { z } from 'zod';
import { type Exchange, exchange, type HttpAnswer } from './http-exchange.js';
import { Refusal, ServerFault } from './server-fault.js';
import {
  type AnsweredTensor,
  byteLengthOf,
  datatypeOf,
  type ExpectedTensor,
  readTensors,
  type SentTensor,
} from './tensors.js';

const tensorSchema = z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.int()) });
const metadataSchema = z.object({ inputs: z.array(tensorSchema), outputs: z.array(tensorSchema) });
/** Metadata of a model, as a server reports it. */
export type ModelMetadata = z.output<typeof metadataSchema>;

/** Fields of a model's configuration that are read (triton-inference-server/common, protobuf/model_config.proto). */
const modelConfigSchema = z.object({
  sequence_batching: z
    .object({ state: z.array(z.object({ input_name: z.string(), output_name: z.string() })).default([]) })
    .nullish(),
});

const inferSchema = z.object({
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

export interface InferenceRun {
  readonly inputs: ReadonlyMap<string, SentTensor>;
  readonly expected: ReadonlyMap<string, ExpectedTensor>;
  /** Sequence that the run belongs to (triton-inference-server/server, docs/protocol/extension_sequence.md). */
  readonly sequence?: { readonly id: string; readonly start: boolean; readonly end: boolean };
}

/** Bytes of an answer beside its tensors. */
const MAX_HEADER_BYTES = 2 ** 20;
/** Timeout of requests that are answered at once: health and metadata. */
const QUESTION_MS = 5000;

/**
 * An inference server: the Open Inference Protocol v2 over HTTP (github.com/kserve/open-inference-protocol) with Triton's
 * binary tensor data extension (triton-inference-server/server, docs/protocol/extension_binary_data.md). JSON comes first,
 * then the tensors in its order: little-endian, row by row.
 */
export class ServerConnection {
  readonly #base: URL;
  readonly #requestMs: number;

  /** @param requestMs time limit of one run */
  constructor(url: string, requestMs: number) {
    this.#base = new URL(url.endsWith('/') ? url : `${url}/`);
    this.#requestMs = requestMs;
  }

  /** @throws ServerFault unless the server and the model are ready */
  async ready(model: string): Promise<void> {
    await this.#question('v2/health/ready');
    await this.#question(`${pathOf(model)}/ready`);
  }

  /** @throws ServerFault */
  async metadata(model: string): Promise<ModelMetadata> {
    const { body } = await this.#question(pathOf(model));
    return parsedAnswer(metadataSchema, body, `the metadata of ${model}`);
  }

  /** `null` where the server does not tell. @throws ServerFault */
  async config(model: string): Promise<z.output<typeof modelConfigSchema> | null> {
    try {
      const { body } = await this.#question(`${pathOf(model)}/config`);
      return parsedAnswer(modelConfigSchema, body, `the configuration of ${model}`);
    } catch (error) {
      if (error instanceof Refusal) return null;
      throw error;
    }
  }

  /** Runs a model once. @throws ServerFault for whatever is not its answer */
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
  const { model_name, outputs } = parsedAnswer(inferSchema, body.subarray(0, headerBytes), 'the answer');
  let offset = headerBytes;
  const tensors = outputs.map(({ parameters, ...told }): AnsweredTensor => {
    const from = offset;
    offset += parameters.binary_data_size;
    if (offset > body.byteLength) throw new ServerFault('the answer is too short');
    return { ...told, bytes: body.subarray(from, offset) };
  });
  if (offset !== body.byteLength)
    throw new ServerFault(`the answer has ${body.byteLength - offset} bytes too many`);
  return { model: model_name, outputs: tensors };
}

/**
 * @param what name of the answer, for errors
 * @throws ServerFault where it is not of that form
 */
function parsedAnswer<Schema extends z.ZodType>(
  schema: Schema,
  body: Buffer,
  what: string,
): z.output<Schema> {
  let answer: unknown;
  try {
    answer = JSON.parse(body.toString());
  } catch {
    throw new ServerFault(`${what} is not a message of the protocol`);
  }
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new ServerFault(`${[what, ...path].join('.')}: ${message}`);
}
