import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import textFormat from 'protobufjs/ext/textformat.js';
import { z } from 'zod';
import { ModelConfig } from '#src/engine/triton/model-config.js';

const tensorConfig = z.object({
  name: z.string(),
  data_type: z.enum(['TYPE_FP32', 'TYPE_INT64']),
  dims: z.array(z.number()),
});
const configSchema = z.object({
  name: z.string(),
  backend: z.literal('onnxruntime'),
  max_batch_size: z.literal(0).default(0),
  version_policy: z.object({ specific: z.object({ versions: z.array(z.number()) }) }),
  input: z.array(tensorConfig),
  output: z.array(tensorConfig),
});
type Config = z.output<typeof configSchema>;
type TensorConfig = z.output<typeof tensorConfig>;

const requestSchema = z.object({
  inputs: z.array(
    z.object({
      name: z.string(),
      shape: z.array(z.int().min(0)),
      datatype: z.string(),
      parameters: z.object({ binary_data_size: z.int() }),
    }),
  ),
  outputs: z.array(z.object({ name: z.string(), parameters: z.object({ binary_data: z.literal(true) }) })),
});

export type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;
/** What a run answers, to be changed by a test. */
export interface RunAnswer {
  readonly header: {
    model_name: string;
    outputs: { name: string; shape: number[]; datatype: string; parameters: { binary_data_size: number } }[];
  };
  readonly tensors: Buffer[];
}

/**
 * A double of an inference server, not a real one: the Open Inference Protocol v2 over HTTP with the binary tensor
 * extension, written from their specifications. It reads a model repository as Triton does, and really runs the graphs
 * in it with onnxruntime. It refuses what the protocol or `config.pbtxt` forbids.
 */
export class InferenceServerDouble {
  /** What it does instead with the next requests for runs, one each. */
  readonly instead: Answer[] = [];
  /** Changes the answer of every run. */
  change: (answer: RunAnswer) => RunAnswer = (answer) => answer;
  /** Runs that were asked for, by model, with the bytes of their requests. */
  readonly runs: { readonly model: string; readonly bytes: number }[] = [];
  /** Whether models are ready. */
  ready = true;
  readonly #configs: ReadonlyMap<string, Config>;
  readonly #repository: string;
  readonly #sessions = new Map<string, Promise<ort.InferenceSession>>();
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.#answer(request, response, Buffer.concat(chunks)).catch((error: unknown) => {
        response.writeHead(error instanceof Refusal ? error.status : 500, {
          'content-type': 'application/json',
        });
        response.end(JSON.stringify({ error: String(error) }));
      });
    });
  });

  constructor(repository: string) {
    this.#repository = repository;
    const read = (model: string): [string, Config] => {
      const text = readFileSync(join(repository, model, 'config.pbtxt'), 'utf8');
      const message = ModelConfig.toObject(textFormat.fromText(ModelConfig, text), {
        enums: String,
        longs: Number,
      });
      const config = configSchema.parse(message);
      if (config.name !== model) throw new Error(`${model}/config.pbtxt: name: ${config.name}`);
      return [model, config];
    };
    this.#configs = new Map(readdirSync(repository).map(read));
  }

  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const json = (value: unknown): void => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const path = request.url ?? '';
    if (path === '/v2') return json({ name: 'double', version: '0', extensions: ['binary_tensor_data'] });
    if (path === '/v2/health/live' || path === '/v2/health/ready') return json({});
    const [, name = '', rest] = /^\/v2\/models\/([^/]+)(?:\/(ready|infer))?$/.exec(path) ?? [];
    const config = this.#configs.get(decodeURIComponent(name));
    if (!config) throw new Refusal(400, `Request for unknown model: '${name}' is not found`);
    if (!this.ready) throw new Refusal(503, 'model is not ready');
    if (rest === 'ready') return json({});
    if (rest === undefined) {
      const tensor = ({ name, data_type, dims }: TensorConfig) => ({
        name,
        datatype: data_type.slice(5),
        shape: dims,
      });
      return json({
        ...{ name: config.name, versions: ['1'], platform: 'onnxruntime_onnx' },
        ...{ inputs: config.input.map(tensor), outputs: config.output.map(tensor) },
      });
    }
    if (request.method !== 'POST') throw new Refusal(405, 'Method Not Allowed');
    this.runs.push({ model: config.name, bytes: body.length });
    const instead = this.instead.shift();
    if (instead) return instead(request, response, body);
    const answer = this.change(await this.#infer(config, request, body));
    const header = Buffer.from(JSON.stringify(answer.header));
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': header.length,
      'content-length': [header, ...answer.tensors].reduce((sum, { length }) => sum + length, 0),
    });
    response.end(Buffer.concat([header, ...answer.tensors]));
  }

  async #infer(config: Config, { headers }: IncomingMessage, body: Buffer): Promise<RunAnswer> {
    const headerBytes = Number(headers['inference-header-content-length']);
    if (!Number.isInteger(headerBytes)) throw new Refusal(400, 'Inference-Header-Content-Length is missing');
    if (Number(headers['content-length']) !== body.length)
      throw new Refusal(400, 'Content-Length is missing');
    const asked = requestSchema.parse(JSON.parse(body.subarray(0, headerBytes).toString()));
    const given = new Map(asked.inputs.map((input) => [input.name, input]));
    if (given.size !== config.input.length || asked.inputs.length !== given.size) {
      throw new Refusal(400, `expected ${config.input.length} inputs but got ${asked.inputs.length}`);
    }
    const feeds: Record<string, ort.Tensor> = {};
    let offset = headerBytes;
    for (const { name, shape, datatype, parameters } of asked.inputs) {
      const input = config.input.find((one) => one.name === name);
      if (!input) throw new Refusal(400, `unexpected inference input '${name}'`);
      if (datatype !== input.data_type.slice(5)) throw new Refusal(400, `'${name}': data-type ${datatype}`);
      const fits =
        shape.length === input.dims.length && input.dims.every((dim, i) => dim === -1 || dim === shape[i]);
      if (!fits) throw new Refusal(400, `unexpected shape for input '${name}': [${shape}]`);
      const bytes = parameters.binary_data_size;
      const size = shape.reduce((a, b) => a * b, datatype === 'FP32' ? 4 : 8);
      if (bytes !== size) throw new Refusal(400, `'${name}': unexpected size ${bytes}, expecting ${size}`);
      const { buffer } = Uint8Array.from(body.subarray(offset, offset + bytes));
      offset += bytes;
      feeds[name] =
        datatype === 'FP32'
          ? new ort.Tensor('float32', new Float32Array(buffer), shape)
          : new ort.Tensor('int64', new BigInt64Array(buffer), shape);
    }
    if (offset !== body.length)
      throw new Refusal(400, `unexpected additional input data: ${body.length - offset}`);
    const session = await this.#session(config.name);
    const outputs = await session.run(
      feeds,
      asked.outputs.map(({ name }) => name),
    );
    const tensors = asked.outputs.map(({ name }) => {
      const { type, dims, data } = outputs[name]!;
      const bytes = data as Float32Array;
      const datatype = type === 'float32' ? 'FP32' : 'INT64';
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const parameters = { binary_data_size: bytes.byteLength };
      return { output: { name, shape: [...dims], datatype, parameters }, buffer };
    });
    return {
      header: { model_name: config.name, outputs: tensors.map(({ output }) => output) },
      tensors: tensors.map(({ buffer }) => buffer),
    };
  }

  #session(model: string): Promise<ort.InferenceSession> {
    const known = this.#sessions.get(model);
    if (known) return known;
    const file = join(this.#repository, model, '1', 'model.onnx', 'model.onnx');
    const session = ort.InferenceSession.create(file, { intraOpNumThreads: 1 });
    this.#sessions.set(model, session);
    return session;
  }
}

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
