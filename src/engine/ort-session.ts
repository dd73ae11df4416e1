import { dirname, sep } from 'node:path';
import * as ort from 'onnxruntime-node';
import { serialize } from '../onnx/serialize.js';
import type { FinishedGraph } from '../onnx/weights-as-inputs.js';
import { type Device, executionProviders } from './device.js';

export type Feeds = Readonly<Record<string, ort.Tensor>>;
/** Outputs by name: `null`, or a tensor to write into. */
export type Fetches = Readonly<Record<string, ort.Tensor | null>>;
export type Session = ort.InferenceSession;

/** A graph that can be run, wherever it is. */
export interface GraphRunner extends Pick<Session, 'inputNames' | 'outputNames'> {
  run(feeds: Feeds, fetches: Fetches): Promise<Readonly<Record<string, ort.Tensor>>>;
}

/** One of this process. */
export type OpenedGraph = GraphRunner & Pick<Session, 'endProfiling'>;

export interface SessionOptions {
  /** Threads inside one operator. */
  readonly threads: number;
  readonly device?: Device;
  /**
   * Packed copies of the weights: quicker products, memory that no other session shares. Products of integers need them,
   * and what their scales are computed from is folded. Off by default.
   */
  readonly packed?: boolean;
  /** Whether outputs stay on the device, for other graphs of it. WebGPU only. */
  readonly keepOnDevice?: boolean;
  /** Beginning of the path of a profile, which `endProfiling` of the session completes. */
  readonly profile?: string;
}

/**
 * Opens a graph with its weights read in place.
 *
 * - `disable_prepacking`: packed copies of the weights would be private to each session.
 * - The two optimizers turned off would fold the cast of a bf16 or fp16 weight, or of integers, into an fp32 copy.
 * - Memory patterns are planned and kept for every shape that comes along; here nearly every run has its own.
 * - Without an arena of its own a session gives back what it used: a process has several, and runs one at a time.
 * - Spinning threads of one engine process would take the cores from the other.
 *
 * @throws Error of onnxruntime when it refuses the graph, or the device is not to be had
 */
export async function openSession(graph: FinishedGraph, options: SessionOptions): Promise<Session> {
  const { device = 'cpu', packed = false } = options;
  const { folder, entries } = sessionSettings(graph, packed);
  return ort.InferenceSession.create(serialize(graph, folder), {
    // Else what was uploaded stays there once more, for the next upload.
    executionProviders: options.keepOnDevice
      ? [{ name: 'webgpu', storageBufferCacheMode: 'disabled' }]
      : executionProviders(device),
    intraOpNumThreads: options.threads,
    interOpNumThreads: 1,
    enableMemPattern: false,
    enableCpuMemArena: false,
    logSeverityLevel: 3,
    ...(options.keepOnDevice && { preferredOutputLocation: 'gpu-buffer' }),
    ...(options.profile !== undefined && { enableProfiling: true, profileFilePrefix: options.profile }),
    extra: Object.fromEntries(entries),
  });
}

/** The configuration of a session, and the folder that its weights' paths begin at: see {@link openSession}. */
export function sessionSettings(
  { initializers }: Pick<FinishedGraph, 'initializers'>,
  packed = false,
): { readonly folder: string; readonly entries: readonly (readonly [name: string, value: string])[] } {
  const files = initializers.flatMap((one) => ('external' in one ? [one.external.file] : []));
  const folder = commonFolder(files);
  const entries: (readonly [string, string])[] = [
    ['session.disable_prepacking', packed ? '0' : '1'],
    ['session.intra_op.allow_spinning', '0'],
  ];
  if (files.length > 0) entries.push(['session.model_external_initializers_file_folder_path', folder]);
  if (!packed) {
    const names = 'ConstantFolding;FuseFp16InitializerToFp32NodeTransformer';
    entries.push(['optimization.disable_specified_optimizers', names]);
  }
  return { folder, entries };
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
