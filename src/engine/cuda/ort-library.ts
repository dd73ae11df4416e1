import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ELEMENT_TYPE_CODE } from '../../onnx/onnx-types.js';

/** An address in native code. */
export type Pointer = unknown;

/** Elements of the types that the inputs and outputs of graphs have. */
export type Elements = Float32Array | BigInt64Array;

/** A tensor of the library, which lives until it is released. */
export interface NativeTensor {
  readonly value: Pointer;
  /** Its elements, if it is in main memory; kept, because the library does not. */
  readonly data: Elements | null;
}

/** The part of the package `koffi` that is used. */
interface Koffi {
  load(path: string): { func(definition: string): (...values: unknown[]) => Pointer };
  proto(definition: string): Pointer;
  call(address: Pointer, type: Pointer, ...values: unknown[]): unknown;
  decode(address: Pointer, type: Pointer): Pointer[];
  array(type: string, length: number): Pointer;
  view(address: Pointer, bytes: number): ArrayBuffer;
}

const KOFFI: string = 'koffi';
/** The version of the interface in `onnxruntime_c_api.h` that these functions are of; functions are only ever added. */
const API_VERSION = 23;
/** Functions of `OrtApi` by their place in it, with the types of their arguments; each returns a status. */
const FUNCTIONS = {
  CreateEnv: [3, 'int, const char *, _Out_ void **'],
  CreateSessionFromArray: [8, 'void *, void *, size_t, void *, _Out_ void **'],
  CreateSessionOptions: [10, '_Out_ void **'],
  DisableMemPattern: [17, 'void *'],
  SetSessionLogSeverityLevel: [22, 'void *, int'],
  SetIntraOpNumThreads: [24, 'void *, int'],
  CreateRunOptions: [39, '_Out_ void **'],
  CreateTensorAsOrtValue: [48, 'void *, int64_t *, size_t, int, _Out_ void **'],
  CreateTensorWithDataAsOrtValue: [49, 'void *, void *, size_t, int64_t *, size_t, int, _Out_ void **'],
  GetTensorMutableData: [51, 'void *, _Out_ void **'],
  CreateMemoryInfo: [68, 'const char *, int, int, int, _Out_ void **'],
  AddSessionConfigEntry: [130, 'void *, const char *, const char *'],
  CreateAllocator: [131, 'void *, void *, _Out_ void **'],
  RunWithBinding: [133, 'void *, void *, void *'],
  CreateIoBinding: [134, 'void *, _Out_ void **'],
  BindInput: [136, 'void *, const char *, void *'],
  BindOutput: [137, 'void *, const char *, void *'],
  AddRunConfigEntry: [165, 'void *, const char *, const char *'],
  AppendCuda: [204, 'void *, void *'],
  CreateCudaOptions: [205, '_Out_ void **'],
  UpdateCudaOptions: [206, 'void *, const char **, const char **, size_t'],
} as const;
/** Those that return nothing, and the one that returns a text. */
const [GET_ERROR_MESSAGE, RELEASE_STATUS, RELEASE_VALUE, RELEASE_BINDING] = [2, 93, 96, 135];
const PLACES = 210;

/** Of the levels of the log. */
export const ERRORS = 3;
/** An allocator that keeps memory to use it again, and the default kind of memory of a device. */
export const [ARENA, DEFAULT_MEMORY] = [1, 0];

type FunctionName = keyof typeof FUNCTIONS;

/**
 * The C interface of the library that onnxruntime-node itself calls, for what its binding leaves out: tensors that stay on
 * a CUDA device, and CUDA graphs. Through `koffi`, which needs no compiler.
 */
export class OrtLibrary {
  readonly #koffi: Koffi;
  readonly #table: readonly Pointer[];
  readonly #types = new Map<string, Pointer>();
  readonly environment: Pointer;
  readonly #memory: Pointer;

  private constructor(koffi: Koffi, table: readonly Pointer[]) {
    this.#koffi = koffi;
    this.#table = table;
    this.environment = this.get('CreateEnv', ERRORS, 'flinch');
    this.#memory = this.get('CreateMemoryInfo', 'Cpu', ARENA, 0, DEFAULT_MEMORY);
  }

  static #loaded: Promise<OrtLibrary | null> | undefined;

  /** `null` where `koffi` is not installed. @throws Error where the library cannot be loaded, or is too old */
  static load(): Promise<OrtLibrary | null> {
    OrtLibrary.#loaded ??= OrtLibrary.#load();
    return OrtLibrary.#loaded;
  }

  static async #load(): Promise<OrtLibrary | null> {
    const require = createRequire(import.meta.url);
    try {
      require.resolve(KOFFI);
    } catch {
      return null;
    }
    const { default: koffi } = (await import(KOFFI)) as { readonly default: Koffi };
    const folder = dirname(require.resolve('onnxruntime-node/package.json'));
    const file = join(folder, 'bin', 'napi-v6', process.platform, process.arch, 'libonnxruntime.so.1');
    const base = koffi.load(file).func('void *OrtGetApiBase()')();
    const [getApi] = koffi.decode(base, koffi.array('void *', 1));
    const api = koffi.call(getApi, koffi.proto('void *OrtGetApi(uint32_t)'), API_VERSION);
    if (!api) throw new Error(`${file}: has no interface of version ${API_VERSION}`);
    return new OrtLibrary(koffi, koffi.decode(api, koffi.array('void *', PLACES)));
  }

  /** @throws Error with the message of onnxruntime */
  call(name: FunctionName, ...values: unknown[]): void {
    const [place, types] = FUNCTIONS[name];
    const status = this.#call(place, `void *Ort${name}(${types})`, values);
    if (!status) return;
    const message = this.#call(GET_ERROR_MESSAGE, 'const char *OrtGetErrorMessage(void *)', [status]);
    this.#call(RELEASE_STATUS, 'void OrtReleaseStatus(void *)', [status]);
    throw new Error(`${name}: ${message}`);
  }

  /** Calls a function whose last argument is where the result goes. */
  get(name: FunctionName, ...values: unknown[]): Pointer {
    const result: Pointer[] = [null];
    this.call(name, ...values, result);
    return result[0];
  }

  /** A tensor of these elements, which are not copied. */
  tensor(data: Elements, dims: readonly number[]): NativeTensor {
    const type = ELEMENT_TYPE_CODE[data instanceof Float32Array ? 'float32' : 'int64'];
    const sizes = BigInt64Array.from(dims, BigInt);
    const value = this.get(
      'CreateTensorWithDataAsOrtValue',
      this.#memory,
      data,
      data.byteLength,
      sizes,
      dims.length,
      type,
    );
    return { value, data };
  }

  release({ value }: NativeTensor): void {
    this.#call(RELEASE_VALUE, 'void OrtReleaseValue(void *)', [value]);
  }

  releaseBinding(binding: Pointer): void {
    this.#call(RELEASE_BINDING, 'void OrtReleaseIoBinding(void *)', [binding]);
  }

  #call(place: number, definition: string, values: readonly unknown[]): unknown {
    const type = this.#types.get(definition) ?? this.#koffi.proto(definition);
    this.#types.set(definition, type);
    return this.#koffi.call(this.#table[place], type, ...values);
  }
}
