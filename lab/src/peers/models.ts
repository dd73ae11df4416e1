import { join } from 'node:path';
import { reasonerPath as EMBEDDED_MODEL } from '#src/package-root.js';

/** Location of each model that peers serve, below the peers' folder. */
export const MODELS = {
  reasoner: {
    checkpoint: () => EMBEDDED_MODEL,
    gguf: (root: string) => join(root, 'models', 'reasoner.gguf'),
  },
  smollm2: {
    checkpoint: (root: string) => join(root, 'models', 'smollm2'),
    gguf: (root: string) => join(root, 'models', 'smollm2.Q4_1.gguf'),
  },
} as const;

export type PeerModel = keyof typeof MODELS;

/** Models that are there as GGUF alone. */
export const GGUF_ONLY = {
  gemma3: { gguf: (root: string) => join(root, 'models', 'gemma3.Q4_K_M.gguf') },
  'qwen-0.5b': { gguf: (root: string) => join(root, 'models', 'qwen-0.5b.Q4_K_M.gguf') },
  'qwen-1.5b': { gguf: (root: string) => join(root, 'models', 'qwen-1.5b.Q4_K_M.gguf') },
} as const;

/** A model that llama.cpp can read; vLLM serves those with a checkpoint. */
export type GgufModel = PeerModel | keyof typeof GGUF_ONLY;

export const isPeerModel = (model: string): model is PeerModel => model in MODELS;
