import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type * as ort from 'onnxruntime-node';
import { z } from 'zod';
import {
  type InferenceRun,
  type ModelMetadata,
  metadataSchema,
  modelConfigSchema,
  parsedAnswer,
  QUESTION_MS,
  type ServerConnection,
  type ToldConfig,
  unlessRefused,
} from './connection.js';
import { type GrpcMethod, methodPath, plain, requestType, responseType } from './grpc-messages.js';
import { ModelConfig } from './model-config.js';
import { Refusal, ServerFault } from './server-fault.js';
import { datatypeOf, readTensors } from './tensors.js';

/** A message of protobuf cannot be larger. */
const MAX_REQUEST_BYTES = 2 ** 31 - 1;
/** Maximum bytes of an answer; its content is checked once it is here. */
const MAX_ANSWER_BYTES = 2 ** 30;

/** Statuses for which the request is at fault. */
const REFUSED: readonly number[] = [
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNIMPLEMENTED,
];

const readySchema = z.object({ ready: z.boolean() });
const configAnswer = z.object({ config: z.instanceof(Uint8Array) });
const inferSchema = z.object({
  model_name: z.string(),
  outputs: z.array(z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.int().min(0)) })),
  raw_output_contents: z.array(z.instanceof(Uint8Array)),
});

/** The Open Inference Protocol v2 over gRPC: `inference.GRPCInferenceService`, tensors as raw contents. */
export class GrpcConnection implements ServerConnection {
  readonly #client: Client;
  readonly #requestMs: number;

  /**
   * @param url `grpc://host:port`, or `grpcs://` for TLS
   * @param requestMs time limit of one run
   */
  constructor(url: string, requestMs: number) {
    const { protocol, host } = new URL(url);
    const channel = protocol === 'grpcs:' ? credentials.createSsl() : credentials.createInsecure();
    this.#client = new Client(host, channel, {
      'grpc.max_receive_message_length': MAX_ANSWER_BYTES,
      'grpc.max_send_message_length': MAX_REQUEST_BYTES,
      // One that is back is asked soon: the circuit breaker decides when.
      'grpc.max_reconnect_backoff_ms': QUESTION_MS,
    });
    this.#requestMs = requestMs;
  }

  async ready(model: string): Promise<void> {
    for (const [method, request] of [
      ['ServerReady', {}],
      ['ModelReady', { name: model }],
    ] as const) {
      const { ready } = await this.#question(method, request, readySchema);
      if (!ready) throw new Refusal(`${method === 'ModelReady' ? model : 'the server'} is not ready`);
    }
  }

  metadata(model: string): Promise<ModelMetadata> {
    return this.#question('ModelMetadata', { name: model }, metadataSchema);
  }

  async config(model: string): Promise<ToldConfig | null> {
    const answer = await unlessRefused(this.#question('ModelConfig', { name: model }, configAnswer));
    return answer && parsedAnswer(modelConfigSchema, () => plain(ModelConfig, answer.config), 'ModelConfig');
  }

  async infer(
    model: string,
    { inputs, expected, sequence }: InferenceRun,
  ): Promise<Record<string, ort.Tensor>> {
    const tensors = [...inputs.values()];
    const size = tensors.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    if (size > MAX_REQUEST_BYTES) {
      throw new Error(`a run needs ${size} bytes, and a message of gRPC has ${MAX_REQUEST_BYTES} at most`);
    }
    const request = {
      model_name: model,
      inputs: Array.from(inputs, ([name, { type, dims }]) => ({
        name,
        datatype: datatypeOf(type),
        shape: dims,
      })),
      outputs: Array.from(expected.keys(), (name) => ({ name })),
      raw_input_contents: tensors.map(({ bytes }) => bytes),
      ...(sequence && {
        parameters: {
          sequence_id: { string_param: sequence.id },
          sequence_start: { bool_param: sequence.start },
          sequence_end: { bool_param: sequence.end },
        },
      }),
    };
    const answer = await this.#call('ModelInfer', request, inferSchema, this.#requestMs);
    const { model_name, outputs, raw_output_contents: raw } = answer;
    if (outputs.length !== raw.length) throw new ServerFault('the answer has no tensors in binary form');
    const answered = {
      model: model_name,
      outputs: outputs.map((output, i) => ({ ...output, bytes: raw[i]! })),
    };
    return readTensors(model, answered, expected);
  }

  #question<Schema extends z.ZodType>(method: GrpcMethod, request: object, schema: Schema) {
    return this.#call(method, request, schema, QUESTION_MS);
  }

  async #call<Schema extends z.ZodType>(
    method: GrpcMethod,
    request: object,
    schema: Schema,
    timeoutMs: number,
  ): Promise<z.output<Schema>> {
    const type = requestType(method);
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      this.#client.makeUnaryRequest(
        methodPath(method),
        (message: object) => Buffer.from(type.encode(type.fromObject(message)).finish()),
        (answer: Buffer) => answer,
        request,
        { deadline: Date.now() + timeoutMs },
        (error, answer) => {
          if (error) reject(faultOf(method, error, timeoutMs));
          else resolve(answer ?? Buffer.alloc(0));
        },
      );
    });
    return parsedAnswer(schema, () => plain(responseType(method), bytes), method);
  }
}

function faultOf(method: string, { code }: ServiceError, timeoutMs: number): ServerFault {
  if (code === status.DEADLINE_EXCEEDED) return new ServerFault(`no answer within ${timeoutMs / 1000} s`);
  if (code === status.UNAVAILABLE) return new ServerFault('the connection failed (UNAVAILABLE)');
  const Fault = REFUSED.includes(code) ? Refusal : ServerFault;
  return new Fault(`${method}: status ${status[code]}`);
}
