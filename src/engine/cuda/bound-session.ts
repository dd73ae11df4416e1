import type { ElementType, Value } from '../../onnx/onnx-types.js';
import { ELEMENT_TYPE_CODE } from '../../onnx/onnx-types.js';
import { serialize } from '../../onnx/serialize.js';
import type { FinishedGraph } from '../../onnx/weights-as-inputs.js';
import { sessionSettings } from '../ort-session.js';
import {
  ARENA,
  DEFAULT_MEMORY,
  ERRORS,
  type NativeTensor,
  type OrtLibrary,
  type Pointer,
} from './ort-library.js';

export type NativeTensors = Readonly<Record<string, NativeTensor>>;

export interface BoundSessionOptions {
  readonly threads: number;
  readonly device: 'cpu' | 'cuda';
}

/** In the options of a run: no CUDA graph. */
const NO_CAPTURE = -1;

/**
 * A session whose inputs and outputs are bound to memory before it runs: what is on the device stays there. On CUDA a run
 * with an id is recorded as a CUDA graph, and played again from then on: its tensors must stay where they are.
 */
export class BoundSession {
  readonly inputs: readonly Value[];
  readonly outputs: FinishedGraph['outputs'];
  readonly #library: OrtLibrary;
  readonly #session: Pointer;
  readonly #memory: Pointer;
  readonly #allocator: Pointer;
  readonly #runOptions = new Map<number, Pointer>();

  /** @throws Error of onnxruntime when it refuses the graph, or the device is not to be had */
  constructor(library: OrtLibrary, graph: FinishedGraph, { threads, device }: BoundSessionOptions) {
    this.#library = library;
    this.inputs = graph.inputs;
    this.outputs = graph.outputs;
    const options = library.get('CreateSessionOptions');
    library.call('DisableMemPattern', options);
    library.call('SetSessionLogSeverityLevel', options, ERRORS);
    library.call('SetIntraOpNumThreads', options, threads);
    const { folder, entries } = sessionSettings(graph);
    for (const [name, value] of entries) library.call('AddSessionConfigEntry', options, name, value);
    if (device === 'cuda') {
      const cuda = library.get('CreateCudaOptions');
      library.call('UpdateCudaOptions', cuda, ['enable_cuda_graph', 'use_tf32'], ['1', '0'], 2);
      library.call('AppendCuda', options, cuda);
    }
    const model = serialize(graph, folder);
    this.#session = library.get('CreateSessionFromArray', library.environment, model, model.length, options);
    const name = device === 'cuda' ? 'Cuda' : 'Cpu';
    this.#memory = library.get('CreateMemoryInfo', name, ARENA, 0, DEFAULT_MEMORY);
    this.#allocator = library.get('CreateAllocator', this.#session, this.#memory);
  }

  /** A tensor on the device, its elements undefined. */
  allocate(type: ElementType, dims: readonly number[]): NativeTensor {
    const value = this.#library.get(
      'CreateTensorAsOrtValue',
      this.#allocator,
      BigInt64Array.from(dims, BigInt),
      dims.length,
      ELEMENT_TYPE_CODE[type],
    );
    return { value, data: null };
  }

  bind(inputs: NativeTensors, outputs: NativeTensors): Binding {
    const binding = this.#library.get('CreateIoBinding', this.#session);
    for (const [name, { value }] of Object.entries(inputs))
      this.#library.call('BindInput', binding, name, value);
    for (const [name, { value }] of Object.entries(outputs))
      this.#library.call('BindOutput', binding, name, value);
    return {
      run: (capture = NO_CAPTURE) =>
        this.#library.call('RunWithBinding', this.#session, this.#optionsOf(capture), binding),
      release: () => this.#library.releaseBinding(binding),
    };
  }

  #optionsOf(capture: number): Pointer {
    const known = this.#runOptions.get(capture);
    if (known) return known;
    const options = this.#library.get('CreateRunOptions');
    this.#library.call('AddRunConfigEntry', options, 'gpu_graph_id', String(capture));
    this.#runOptions.set(capture, options);
    return options;
  }
}

export interface Binding {
  /**
   * Runs the session, and returns when it is done.
   * @param capture number of the CUDA graph that this binding is recorded as
   * @throws Error of onnxruntime
   */
  run(capture?: number): void;
  release(): void;
}
