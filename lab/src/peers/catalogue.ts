import { environment } from './environment.js';
import { llamaCpp } from './llama-cpp.js';
import {
  gemma3Gguf,
  gemma3Terms,
  minilm,
  qwen05Gguf,
  qwen15Gguf,
  reasonerGguf,
  smollm2Checkpoint,
  smollm2Gguf,
} from './model-parts.js';
import { nodeLlamaCpp } from './node-llama-cpp.js';
import type { Part } from './part.js';

export interface Peer {
  /** Description and purpose. */
  readonly purpose: string;
  readonly licence: string;
  /** Bytes to fetch and on the disk, if nothing of it is there; measured on Linux x64. */
  readonly download: number;
  readonly disk: number;
  /** Bytes of `download` and `disk` that are torch and its libraries for CUDA, the same files in all environments. */
  readonly torch?: { readonly download: number; readonly disk: number };
  /** Further requirements and facts for the user. */
  readonly notes?: readonly string[];
  readonly parts: readonly Part[];
}

/** PyPI's torch for Linux is the one for CUDA. */
const TORCH = { download: 2.75e9, disk: 4.75e9 };

export const PEERS = {
  vllm: {
    purpose: 'vLLM 0.32.0 for CPUs: an OpenAI-compatible server',
    licence: 'Apache-2.0',
    download: 3.17e9,
    disk: 6.3e9,
    torch: TORCH,
    notes: ['on Linux only; each server takes 2 to 3 GB of memory and a minute to start'],
    parts: [environment('vllm')],
  },
  'llama-cpp': {
    purpose: "llama.cpp's server, built here, and the embedded model as GGUF",
    licence: 'MIT',
    download: 0.14e9,
    disk: 0.22e9,
    notes: ['needs a C++ compiler; 5 to 15 minutes on two cores, with 0.4 GB more on the disk meanwhile'],
    parts: [llamaCpp, reasonerGguf],
  },
  'node-llama-cpp': {
    purpose: 'node-llama-cpp 3.22.1: llama.cpp as a library for Node, from npm',
    licence: 'MIT',
    download: 0.03e9,
    disk: 0.1e9,
    notes: ['is only set up: npm run lab -- peers-speed runs it'],
    parts: [nodeLlamaCpp],
  },
  litellm: {
    purpose: 'LiteLLM 1.106.2: a proxy before other servers',
    licence: 'MIT',
    download: 0.17e9,
    disk: 0.6e9,
    parts: [environment('litellm')],
  },
  kserve: {
    purpose:
      "KServe's SDK 0.21.0 with onnxruntime 1.27.0, and NVIDIA's tritonclient 2.73.0: inference servers",
    licence: 'Apache-2.0, MIT, BSD-3-Clause',
    download: 0.16e9,
    disk: 0.4e9,
    notes: ['is only set up: tests start it'],
    parts: [environment('kserve')],
  },
  'open-webui': {
    purpose: 'Open WebUI 0.12.4: a chat app before other servers',
    licence: 'Open WebUI License (BSD-3-Clause with a clause on branding)',
    download: 3.3e9,
    disk: 6.6e9,
    torch: TORCH,
    notes: ['is only set up: tests start it'],
    parts: [environment('open-webui')],
  },
  phoenix: {
    purpose: 'Phoenix 20.26.1: a collector of traces, with a page',
    licence: 'Elastic License 2.0',
    download: 0.2e9,
    disk: 0.63e9,
    notes: ['is only set up: tests start it'],
    parts: [environment('phoenix')],
  },
  schemathesis: {
    purpose: 'Schemathesis 4.32.5: requests made from an OpenAPI document',
    licence: 'MIT',
    download: 0.02e9,
    disk: 0.05e9,
    notes: ['is only set up: tests start it'],
    parts: [environment('schemathesis')],
  },
  transformers: {
    purpose: 'transformers 5.19.0 and torch 2.13.0: reference values (the environment of vllm)',
    licence: 'Apache-2.0, BSD-3-Clause',
    download: 3.17e9,
    disk: 6.3e9,
    torch: TORCH,
    parts: [environment('vllm')],
  },
  polygraph: {
    purpose: 'LM-Polygraph 0.7.0: uncertainty measures to compare with',
    licence: 'MIT',
    download: 3.05e9,
    disk: 5.9e9,
    torch: TORCH,
    parts: [environment('polygraph')],
  },
  uqlm: {
    purpose: 'UQLM 0.6.7: uncertainty measures to compare with',
    licence: 'Apache-2.0',
    download: 2.95e9,
    disk: 5.6e9,
    torch: TORCH,
    parts: [environment('uqlm')],
  },
  thinkbooster: {
    purpose: 'ThinkBooster 0.1.1: scoring of steps to compare with',
    licence: 'MIT',
    download: 3.11e9,
    disk: 6.2e9,
    torch: TORCH,
    notes: ['without vLLM: it asks for an older one for CUDA'],
    parts: [environment('thinkbooster')],
  },
  smollm2: {
    purpose: 'SmolLM2-135M-Instruct: Q4_1 as GGUF, and the same weights as a checkpoint in float32',
    licence: 'Apache-2.0',
    download: 0.15e9,
    disk: 0.83e9,
    parts: [smollm2Gguf, smollm2Checkpoint],
  },
  gemma3: {
    purpose: 'Gemma 3 270M, Q4_K_M as GGUF',
    licence: 'Gemma Terms of Use (ai.google.dev/gemma/terms)',
    download: 0.3e9,
    disk: 0.69e9,
    notes: ["setting it up means to accept Gemma's terms; they are also put into licences/gemma3"],
    parts: [gemma3Terms, gemma3Gguf],
  },
  'qwen-0.5b': {
    purpose: 'Qwen2.5-Coder-0.5B-Instruct, Q4_K_M as GGUF: it solves grade-school problems in steps',
    licence: 'Apache-2.0',
    download: 0.5e9,
    disk: 0.56e9,
    notes: ['takes 0.5 GB more on the disk while it is set up'],
    parts: [qwen05Gguf],
  },
  'qwen-1.5b': {
    purpose: 'Qwen2.5-Coder-1.5B-Instruct, Q4_K_M as GGUF: it solves grade-school problems in steps',
    licence: 'Apache-2.0',
    download: 1.12e9,
    disk: 1.19e9,
    notes: ['takes 1.1 GB more on the disk while it is set up'],
    parts: [qwen15Gguf],
  },
  minilm: {
    purpose: 'all-MiniLM-L6-v2 as ONNX in float32: vectors of sentences',
    licence: 'Apache-2.0 (the package says MIT)',
    download: 3.25e9,
    disk: 6.5e9,
    torch: TORCH,
    notes: ['is exported with torch in the environment of vllm'],
    parts: [minilm],
  },
} as const satisfies Record<string, Peer>;

export type PeerName = keyof typeof PEERS;

export const PEER_NAMES = Object.keys(PEERS).filter((name): name is PeerName => name in PEERS);
