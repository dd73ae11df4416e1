import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
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

export type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;
/** Answer of a run, which a test may change. */
export interface RunAnswer {
  model: string;
  outputs: WireTensor[];
}

/**
 * A double of an inference server, not a real one: the Open Inference Protocol v2 over HTTP with the binary tensor
 * extension, and Triton's extensions for sequences and configurations, written from their specifications. It serves a model repository ({@link RepositoryModels}), and refuses what the protocol or
 * `config.pbtxt` forbids.
 */
export class InferenceServerDouble {
  /** Answers in place of its own to the next requests for runs, one each. */
  readonly instead: Answer[] = [];
  /** Changes the answer of every run. */
  change: (answer: RunAnswer) => RunAnswer = (answer) => answer;
  /** Runs that were asked for, by model, with the bytes of their requests. */
  readonly runs: { readonly model: string; readonly bytes: number }[] = [];
  /** Whether models are ready. */
  ready = true;
  /** Models that it does not have open. */
  readonly hidden = new Set<string>();
  readonly models: RepositoryModels;
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

  async close(): Promise<void> {
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
