import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server, ServerCredentials, type ServiceError, type sendUnaryData, status } from '@grpc/grpc-js';
import { z } from 'zod';
import { methodPath, plain, requestType, responseType } from '#triton/grpc-messages.js';
import { ModelConfig } from '#triton/model-config.js';
import { originOf } from './http-receiver.js';
import {
  datatypeOf,
  RepositoryModels,
  RequestRefusal,
  type TensorConfig,
  type WireRequest,
  type WireTensor,
} from './repository-models.js';

const parameters = z.record(z.string(), z.unknown()).default({});
const httpRequest = z.object({
  inputs: z.array(
    z.object({
      name: z.string(),
      shape: z.array(z.int().min(0)),
      datatype: z.string(),
      parameters: z.object({ binary_data_size: z.int() }),
    }),
  ),
  outputs: z.array(z.object({ name: z.string(), parameters: z.object({ binary_data: z.literal(true) }) })),
  parameters,
});
const grpcRequest = z.object({
  model_name: z.string(),
  inputs: z.array(z.object({ name: z.string(), shape: z.array(z.int()), datatype: z.string() })),
  outputs: z.array(z.object({ name: z.string() })),
  raw_input_contents: z.array(z.instanceof(Uint8Array)),
  parameters: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
});

export type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;
/** Answer of a run, which a test may change. */
export interface RunAnswer {
  model: string;
  outputs: WireTensor[];
}

/**
 * A double of an inference server, not a real one: the Open Inference Protocol v2 over HTTP with the binary tensor
 * extension, over gRPC with raw contents, and Triton's extensions for sequences and configurations, written from their
 * specifications. It serves a model repository ({@link RepositoryModels}), and refuses what the protocol or
 * `config.pbtxt` forbids.
 */
export class InferenceServerDouble {
  /** Answers in place of its own to the next requests for runs over HTTP, one each. */
  readonly instead: Answer[] = [];
  /** Statuses that it answers over gRPC in place of the next runs; `null` for no answer at all. */
  readonly insteadStatus: (status | null)[] = [];
  /** Changes the answer of every run. */
  change: (answer: RunAnswer) => RunAnswer = (answer) => answer;
  /** Runs that were asked for, by model, with the bytes of their requests. */
  readonly runs: { readonly model: string; readonly bytes: number }[] = [];
  /** Whether models are ready. */
  ready = true;
  /** Models that it does not have open. */
  readonly hidden = new Set<string>();
  readonly models: RepositoryModels;
  #grpc: Server | null = null;
  // Node closes idle connections after 5 s, which a client on a busy machine may not see in time.
  readonly #server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.#answer(request, response, Buffer.concat(chunks)).catch((error: unknown) => {
        response.writeHead(error instanceof RequestRefusal ? error.status : 500, {
          'content-type': 'application/json',
        });
        response.end(JSON.stringify({ error: String(error) }));
      });
    });
  });

  constructor(repository: string) {
    this.models = new RepositoryModels(repository);
  }

  listen(port = 0): Promise<string> {
    return originOf(this.#server, port);
  }

  async listenGrpc(): Promise<string> {
    const server = new Server({ 'grpc.max_receive_message_length': -1 });
    const methods = ['ServerLive', 'ServerReady', 'ModelReady', 'ModelMetadata', 'ModelConfig', 'ModelInfer'];
    const service = methods.map((method) => [
      method,
      {
        path: methodPath(method),
        requestStream: false,
        responseStream: false,
        requestSerialize: (bytes: Buffer) => bytes,
        requestDeserialize: (bytes: Buffer) => bytes,
        responseSerialize: (bytes: Buffer) => bytes,
        responseDeserialize: (bytes: Buffer) => bytes,
      },
    ]);
    const handlers = methods.map((method) => [
      method,
      ({ request }: { request: Buffer }, callback: sendUnaryData<Buffer>) => {
        this.#answerGrpc(method, request).then(
          (answer) => {
            if (answer === null) return;
            const type = responseType(method);
            callback(null, Buffer.from(type.encode(type.fromObject(answer)).finish()));
          },
          (error: unknown) => callback(grpcError(error)),
        );
      },
    ]);
    server.addService(Object.fromEntries(service), Object.fromEntries(handlers));
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    this.#grpc = server;
    return `grpc://127.0.0.1:${port}`;
  }

  async close(): Promise<void> {
    this.#grpc?.forceShutdown();
    this.#server.closeAllConnections();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #config(model: string) {
    if (this.hidden.has(model)) throw new RequestRefusal(400, `Request for unknown model: '${model}'`);
    const config = this.models.config(model);
    if (!this.ready) throw new RequestRefusal(503, 'model is not ready');
    return config;
  }

  #metadata(model: string) {
    const { name, input, output } = this.#config(model);
    const tensor = (config: TensorConfig) => ({
      name: config.name,
      datatype: datatypeOf(config),
      shape: config.dims,
    });
    return {
      name,
      versions: ['1'],
      platform: 'onnxruntime_onnx',
      inputs: input.map(tensor),
      outputs: output.map(tensor),
    };
  }

  async #infer(model: string, request: WireRequest): Promise<RunAnswer> {
    this.#config(model);
    return this.change({ model, outputs: await this.models.infer(model, request) });
  }

  async #answer(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const json = (value: unknown): void => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const path = request.url ?? '';
    const extensions = ['binary_tensor_data', 'sequence', 'model_configuration'];
    if (path === '/v2') return json({ name: 'double', version: '0', extensions });
    if (path === '/v2/health/live' || path === '/v2/health/ready') return json({});
    const [, encoded = '', rest] = /^\/v2\/models\/([^/]+)(?:\/(ready|config|infer))?$/.exec(path) ?? [];
    const model = decodeURIComponent(encoded);
    const config = this.#config(model);
    if (rest === 'ready') return json({});
    if (rest === 'config') return json(config);
    if (rest === undefined) return json(this.#metadata(model));
    if (request.method !== 'POST') throw new RequestRefusal(405, 'Method Not Allowed');
    this.runs.push({ model, bytes: body.length });
    const instead = this.instead.shift();
    if (instead) return instead(request, response, body);
    const answer = await this.#infer(model, readHttp(request, body));
    const header = Buffer.from(
      JSON.stringify({
        model_name: answer.model,
        outputs: answer.outputs.map(({ bytes, ...told }) => ({
          ...told,
          parameters: { binary_data_size: bytes.length },
        })),
      }),
    );
    const whole = Buffer.concat([header, ...answer.outputs.map(({ bytes }) => bytes)]);
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': header.length,
      'content-length': whole.length,
    });
    response.end(whole);
  }

  async #answerGrpc(method: string, bytes: Buffer): Promise<object | null> {
    const message = plain(requestType(method), bytes);
    const model = String(message.name ?? '');
    if (method === 'ServerLive') return { live: true };
    if (method === 'ServerReady') return { ready: true };
    if (method === 'ModelReady') return { ready: this.#config(model) !== undefined };
    if (method === 'ModelMetadata') return this.#metadata(model);
    if (method === 'ModelConfig') {
      return { config: ModelConfig.encode(ModelConfig.fromObject(this.#config(model))).finish() };
    }
    const request = grpcRequest.parse(message);
    this.runs.push({ model: request.model_name, bytes: bytes.length });
    if (this.insteadStatus.length > 0) {
      const code = this.insteadStatus.shift()!;
      if (code === null) return null;
      throw Object.assign(new Error('instead'), { code });
    }
    const { raw_input_contents: raw } = request;
    if (raw.length !== request.inputs.length)
      throw new RequestRefusal(400, `expected ${request.inputs.length} raw inputs but got ${raw.length}`);
    const answer = await this.#infer(request.model_name, {
      inputs: request.inputs.map((input, i) => ({ ...input, bytes: Buffer.from(raw[i]!) })),
      outputs: request.outputs.map(({ name }) => name),
      parameters: Object.fromEntries(
        Object.entries(request.parameters).map(([name, choice]) => [name, Object.values(choice)[0]]),
      ),
    });
    return {
      model_name: answer.model,
      outputs: answer.outputs.map(({ bytes: _, ...told }) => told),
      raw_output_contents: answer.outputs.map(({ bytes }) => bytes),
    };
  }
}

function readHttp({ headers }: IncomingMessage, body: Buffer): WireRequest {
  const headerBytes = Number(headers['inference-header-content-length']);
  if (!Number.isInteger(headerBytes))
    throw new RequestRefusal(400, 'Inference-Header-Content-Length is missing');
  if (Number(headers['content-length']) !== body.length)
    throw new RequestRefusal(400, 'Content-Length is missing');
  const asked = httpRequest.parse(JSON.parse(body.subarray(0, headerBytes).toString()));
  let offset = headerBytes;
  const inputs = asked.inputs.map(({ parameters: { binary_data_size }, ...told }) => {
    const from = offset;
    offset += binary_data_size;
    return { ...told, bytes: body.subarray(from, offset) };
  });
  if (offset !== body.length)
    throw new RequestRefusal(400, `unexpected additional input data: ${body.length - offset}`);
  return { inputs, outputs: asked.outputs.map(({ name }) => name), parameters: asked.parameters };
}

function grpcError(error: unknown): Partial<ServiceError> {
  if (error instanceof RequestRefusal) {
    const code = error.status === 503 ? status.UNAVAILABLE : status.INVALID_ARGUMENT;
    return { code, details: error.message };
  }
  const code = error instanceof Error && 'code' in error ? Number(error.code) : status.INTERNAL;
  return { code, details: String(error) };
}
