import type * as ort from 'onnxruntime-node';
import { z } from 'zod';
import { Refusal, ServerFault } from './server-fault.js';
import type { ExpectedTensor, SentTensor } from './tensors.js';

const tensorSchema = z.object({ name: z.string(), datatype: z.string(), shape: z.array(z.int()) });

/** Metadata of a model, as a server reports it. */
export const metadataSchema = z.object({ inputs: z.array(tensorSchema), outputs: z.array(tensorSchema) });
export type ModelMetadata = z.output<typeof metadataSchema>;

/** Fields of a model's configuration that are read (triton-inference-server/common, protobuf/model_config.proto). */
export const modelConfigSchema = z.object({
  sequence_batching: z
    .object({ state: z.array(z.object({ input_name: z.string(), output_name: z.string() })).default([]) })
    .nullish(),
});
export type ToldConfig = z.output<typeof modelConfigSchema>;

/** Sequence that a run belongs to (triton-inference-server/server, docs/protocol/extension_sequence.md). */
export interface SequenceStep {
  readonly id: string;
  readonly start: boolean;
  readonly end: boolean;
}

export interface InferenceRun {
  readonly inputs: ReadonlyMap<string, SentTensor>;
  readonly expected: ReadonlyMap<string, ExpectedTensor>;
  readonly sequence?: SequenceStep;
}

/** An inference server, in one of its protocols. */
export interface ServerConnection {
  /** @throws ServerFault unless the server and the model are ready */
  ready(model: string): Promise<void>;
  /** @throws ServerFault */
  metadata(model: string): Promise<ModelMetadata>;
  /** `null` where the server does not tell. @throws ServerFault */
  config(model: string): Promise<ToldConfig | null>;
  /** Runs a model once. @throws ServerFault for whatever is not its answer */
  infer(model: string, run: InferenceRun): Promise<Record<string, ort.Tensor>>;
}

/** Bytes of an answer beside its tensors. */
export const MAX_HEADER_BYTES = 2 ** 20;
/** Timeout of requests that are answered at once: health and metadata. */
export const QUESTION_MS = 5000;

/**
 * Parses the answer of a server.
 * @param what name of the answer, for errors
 * @throws ServerFault where it is not of that form
 */
export function parsedAnswer<Schema extends z.ZodType>(
  schema: Schema,
  decode: () => unknown,
  what: string,
): z.output<Schema> {
  let answer: unknown;
  try {
    answer = decode();
  } catch {
    throw new ServerFault(`${what} is not a message of the protocol`);
  }
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new ServerFault(`${[what, ...path].join('.')}: ${message}`);
}

/** Returns `null` if the server refuses to answer. */
export async function unlessRefused<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
