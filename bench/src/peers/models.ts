import { join } from 'node:path';
import { EMBEDDED_MODEL } from 'flinch/internals';

/** Where each model is that peers serve, below the peers' folder. */
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
