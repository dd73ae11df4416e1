import { dirname, sep } from 'node:path';
import * as ort from 'onnxruntime-node';
import type { Graph } from '../onnx/graph.js';
import { serialize } from '../onnx/serialize.js';

export type Feeds = Readonly<Record<string, ort.Tensor>>;
export type Session = ort.InferenceSession;

export interface SessionOptions {
  /** Threads inside one operator. */
  readonly threads: number;
  /** Packed copies of the weights: quicker products, memory that no other session shares. Off by default. */
  readonly prepacking?: boolean;
  /** Beginning of the path of a profile, which `endProfiling` of the session completes. */
  readonly profile?: string;
}

/**
 * Opens a graph on the CPU with its weights read in place.
 *
 * - `disable_prepacking`: packed copies of the weights would be private to each session.
 * - The two optimizers turned off would fold the cast of a bf16 or fp16 weight into an fp32 copy.
 * - Memory patterns are planned and kept for every shape that comes along; here nearly every run has its own.
 * - Spinning threads of one engine process would take the cores from the other.
 *
 * @throws Error of onnxruntime when it refuses the graph
 */
export async function openSession(graph: Graph, options: SessionOptions): Promise<Session> {
  const files = graph.initializers.flatMap((initializer) =>
    'external' in initializer ? [initializer.external.file] : [],
  );
  const folder = commonFolder(files);
  return ort.InferenceSession.create(serialize(graph, folder), {
    executionProviders: ['cpu'],
    intraOpNumThreads: options.threads,
    interOpNumThreads: 1,
    enableMemPattern: false,
    logSeverityLevel: 3,
    ...(options.profile !== undefined && { enableProfiling: true, profileFilePrefix: options.profile }),
    extra: {
      session: {
        disable_prepacking: options.prepacking ? '0' : '1',
        intra_op: { allow_spinning: '0' },
        ...(files.length > 0 && { model_external_initializers_file_folder_path: folder }),
      },
      optimization: {
        disable_specified_optimizers: 'ConstantFolding;FuseFp16InitializerToFp32NodeTransformer',
      },
    },
  });
}

/** The deepest folder that holds all files: the shards of a linked checkpoint may lie apart. */
function commonFolder(files: readonly string[]): string {
  const folders = files.map((file) => dirname(file).split(sep));
  const shared = folders[0] ?? [];
  const depth = shared.findIndex((part, i) => folders.some((folder) => folder[i] !== part));
  return (depth < 0 ? shared : shared.slice(0, depth)).join(sep) || sep;
}

export function floats(data: Float32Array, dims: readonly number[]): ort.Tensor {
  return new ort.Tensor('float32', data, dims);
}

export function longs(data: readonly number[], dims: readonly number[]): ort.Tensor {
  return new ort.Tensor('int64', BigInt64Array.from(data, BigInt), dims);
}

export function ints(data: readonly number[], dims: readonly number[]): ort.Tensor {
  return new ort.Tensor('int32', Int32Array.from(data), dims);
}
