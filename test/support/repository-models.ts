import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import protobuf from 'protobufjs';
import textFormat from 'protobufjs/ext/textformat.js';
import { z } from 'zod';

/**
 * The fields of `inference.ModelConfig` that flinch writes, with the names and numbers of
 * triton-inference-server/common, protobuf/model_config.proto.
 */
const ModelConfig = protobuf
  .parse(
    `syntax = "proto3";
  package inference;
  enum DataType { TYPE_INVALID = 0; TYPE_INT64 = 9; TYPE_FP32 = 11; }
  message ModelInput { string name = 1; DataType data_type = 2; repeated int64 dims = 4; }
  message ModelOutput { string name = 1; DataType data_type = 2; repeated int64 dims = 3; }
  message ModelInstanceGroup {
    enum Kind { KIND_AUTO = 0; KIND_GPU = 1; KIND_CPU = 2; KIND_MODEL = 3; }
    Kind kind = 4;
    int32 count = 2;
  }
  message ModelVersionPolicy {
    message Specific { repeated int64 versions = 1; }
    oneof policy_choice { Specific specific = 3; }
  }
  message ModelOptimizationPolicy {
    message ExecutionAccelerators {
      message Accelerator { string name = 1; map<string, string> parameters = 2; }
      repeated Accelerator gpu_execution_accelerator = 1;
    }
    ExecutionAccelerators execution_accelerators = 5;
  }
  message ModelSequenceBatching {
    message State {
      string input_name = 1;
      string output_name = 2;
      DataType data_type = 3;
      repeated int64 dims = 4;
    }
    message StrategyOldest { int32 max_candidate_sequences = 1; }
    uint64 max_sequence_idle_microseconds = 1;
    oneof strategy_choice { StrategyOldest oldest = 4; }
    repeated State state = 5;
  }
  message ModelParameter { string string_value = 1; }
  message ModelConfig {
    string name = 1;
    string backend = 17;
    ModelVersionPolicy version_policy = 3;
    int32 max_batch_size = 4;
    repeated ModelInput input = 5;
    repeated ModelOutput output = 6;
    ModelOptimizationPolicy optimization = 12;
    oneof scheduling_choice { ModelSequenceBatching sequence_batching = 13; }
    repeated ModelInstanceGroup instance_group = 7;
    map<string, ModelParameter> parameters = 14;
  }`,
    { keepCase: true },
  )
  .root.lookupType('inference.ModelConfig');

const contentConfig = { data_type: z.enum(['TYPE_FP32', 'TYPE_INT64']), dims: z.array(z.number()) };
const tensorConfig = z.object({ name: z.string(), ...contentConfig });
const configSchema = z.object({
  name: z.string(),
  backend: z.literal('onnxruntime'),
  max_batch_size: z.literal(0).default(0),
  version_policy: z.object({ specific: z.object({ versions: z.array(z.number()) }) }),
  input: z.array(tensorConfig),
  output: z.array(tensorConfig),
  sequence_batching: z
    .object({
      max_sequence_idle_microseconds: z.number(),
      oldest: z.object({ max_candidate_sequences: z.number() }),
      state: z.array(z.object({ input_name: z.string(), output_name: z.string(), ...contentConfig })),
    })
    .optional(),
});
export type RepositoryConfig = z.output<typeof configSchema>;
export type TensorConfig = z.output<typeof tensorConfig>;

/** A tensor on the wire, in whichever protocol. */
export interface WireTensor {
  name: string;
  shape: number[];
  datatype: string;
  bytes: Buffer;
}
export interface WireRequest {
  readonly inputs: readonly WireTensor[];
  readonly outputs: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Refusal of a request, with its status. */
export class RequestRefusal extends Error {
  readonly status: 400 | 405 | 503;

  constructor(status: 400 | 405 | 503, message: string) {
    super(message);
    this.status = status;
  }
}

interface Slot {
  states: Record<string, ort.Tensor>;
  /** Requests of a sequence run one after the other. */
  last: Promise<unknown>;
  idle: NodeJS.Timeout | undefined;
}

/**
 * A model repository as Triton has it open: not Triton, but its documented rules, with the graphs really run by
 * onnxruntime. The rules of sequences (docs/user_guide/implicit_state_management.md,
 * docs/protocol/extension_sequence.md, and core, src/sequence_batch_scheduler): the first request must have the start
 * flag; state is passed from request to request, and is neither an input nor an output; variable sizes of it begin at
 * 1, with arbitrary content; the number of sequences at a time is limited, others wait; one that is idle for too long
 * is forgotten.
 */
export class RepositoryModels {
  readonly configs: ReadonlyMap<string, RepositoryConfig>;
  /** Idle time in place of that in the configuration. */
  idleMs: number | undefined;
  readonly #repository: string;
  readonly #sessions = new Map<string, Promise<ort.InferenceSession>>();
  readonly #slots = new Map<string, Slot>();
  readonly #backlog: (() => void)[] = [];

  constructor(repository: string) {
    this.#repository = repository;
    const read = (model: string): [string, RepositoryConfig] => {
      const text = readFileSync(join(repository, model, 'config.pbtxt'), 'utf8');
      const message = ModelConfig.toObject(textFormat.fromText(ModelConfig, text), {
        enums: String,
        longs: Number,
      });
      const config = configSchema.parse(message);
      if (config.name !== model) throw new Error(`${model}/config.pbtxt: name: ${config.name}`);
      return [model, config];
    };
    this.configs = new Map(readdirSync(repository).map(read));
  }

  /** Sequences that are held. */
  get sequences(): number {
    return this.#slots.size;
  }

  /** Loses all sequences, as in a restart. */
  forgetSequences(): void {
    for (const key of [...this.#slots.keys()]) this.#free(key);
  }

  config(model: string): RepositoryConfig {
    const config = this.configs.get(model);
    if (!config) throw new RequestRefusal(400, `Request for unknown model: '${model}' is not found`);
    return config;
  }

  async infer(model: string, { inputs, outputs, parameters }: WireRequest): Promise<WireTensor[]> {
    const config = this.config(model);
    const names = inputs.map(({ name }) => name);
    if (new Set(names).size !== names.length || names.length !== config.input.length) {
      throw new RequestRefusal(400, `expected ${config.input.length} inputs but got ${names.length}`);
    }
    const feeds = Object.fromEntries(inputs.map((tensor) => [tensor.name, feedOf(config, tensor)]));
    const known = new Set(config.output.map(({ name }) => name));
    for (const name of outputs)
      if (!known.has(name)) throw new RequestRefusal(400, `unexpected inference output '${name}'`);
    if (!config.sequence_batching) return this.#run(model, feeds, outputs);

    const { sequence_id: id, sequence_start: start, sequence_end: end } = parameters;
    if (id === undefined || id === 0 || id === '') {
      throw new RequestRefusal(400, `'${model}' must specify a non-zero or non-empty correlation ID`);
    }
    const key = `${model} ${String(id)}`;
    if (start !== true && !this.#slots.has(key)) {
      throw new RequestRefusal(
        400,
        `inference request for sequence ${String(id)} to model '${model}' must specify the START flag on the first request of the sequence`,
      );
    }
    if (start === true) await this.#start(key, config.sequence_batching);
    const slot = this.#slots.get(key)!;
    const turn = slot.last.then(() => this.#step(model, feeds, outputs, slot));
    slot.last = turn.catch(() => {});
    try {
      return await turn;
    } finally {
      if (end === true) this.#free(key);
      else this.#restartIdle(key, config.sequence_batching.max_sequence_idle_microseconds / 1000);
    }
  }

  async #step(
    model: string,
    feeds: Record<string, ort.Tensor>,
    outputs: readonly string[],
    slot: Slot,
  ): Promise<WireTensor[]> {
    const { state } = this.config(model).sequence_batching!;
    const all = [...outputs, ...state.map(({ output_name }) => output_name)];
    const session = await this.#session(model);
    const results = await session.run({ ...feeds, ...slot.states }, all);
    slot.states = Object.fromEntries(
      state.map(({ input_name, output_name }) => [input_name, results[output_name]!]),
    );
    return outputs.map((name) => wireOf(name, results[name]!));
  }

  async #start(
    key: string,
    { oldest, state }: NonNullable<RepositoryConfig['sequence_batching']>,
  ): Promise<void> {
    this.#free(key);
    while (this.#slots.size >= oldest.max_candidate_sequences)
      await new Promise<void>((resolve) => this.#backlog.push(resolve));
    const states = state.map(({ input_name, dims }) => {
      const first = dims.map((dim) => (dim === -1 ? 1 : dim));
      const garbage = new Float32Array(first.reduce((a, b) => a * b, 1)).fill(Number.NaN);
      return [input_name, new ort.Tensor('float32', garbage, first)] as const;
    });
    this.#slots.set(key, {
      states: Object.fromEntries(states),
      last: Promise.resolve(),
      idle: undefined,
    });
  }

  #restartIdle(key: string, configured: number): void {
    const slot = this.#slots.get(key);
    if (!slot) return;
    clearTimeout(slot.idle);
    slot.idle = setTimeout(() => this.#free(key), this.idleMs ?? configured).unref();
  }

  #free(key: string): void {
    clearTimeout(this.#slots.get(key)?.idle);
    if (this.#slots.delete(key)) this.#backlog.shift()?.();
  }

  async #run(
    model: string,
    feeds: Record<string, ort.Tensor>,
    outputs: readonly string[],
  ): Promise<WireTensor[]> {
    const results = await (await this.#session(model)).run(feeds, outputs);
    return outputs.map((name) => wireOf(name, results[name]!));
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

export const datatypeOf = ({ data_type }: Pick<TensorConfig, 'data_type'>): string => data_type.slice(5);

function feedOf(config: RepositoryConfig, { name, shape, datatype, bytes }: WireTensor): ort.Tensor {
  const input = config.input.find((one) => one.name === name);
  if (!input) throw new RequestRefusal(400, `unexpected inference input '${name}'`);
  if (datatype !== datatypeOf(input)) throw new RequestRefusal(400, `'${name}': data-type ${datatype}`);
  const fits =
    shape.length === input.dims.length && input.dims.every((dim, i) => dim === -1 || dim === shape[i]);
  if (!fits) throw new RequestRefusal(400, `unexpected shape for input '${name}': [${shape}]`);
  const size = shape.reduce((a, b) => a * b, datatype === 'FP32' ? 4 : 8);
  if (bytes.length !== size)
    throw new RequestRefusal(400, `'${name}': unexpected size ${bytes.length}, expecting ${size}`);
  const { buffer } = Uint8Array.from(bytes);
  return datatype === 'FP32'
    ? new ort.Tensor('float32', new Float32Array(buffer), shape)
    : new ort.Tensor('int64', new BigInt64Array(buffer), shape);
}

function wireOf(name: string, { type, dims, data }: ort.Tensor): WireTensor {
  const values = data as Float32Array;
  const bytes = Buffer.from(
    Uint8Array.from(Buffer.from(values.buffer, values.byteOffset, values.byteLength)),
  );
  return { name, shape: [...dims], datatype: type === 'float32' ? 'FP32' : 'INT64', bytes };
}
