import type { Family } from '../model-families.js';

/**
 * Supported architectures by `general.architecture`. Mistral's models are `llama`. If they are interleaved, the halves of
 * each head's queries and keys are, for another order of RoPE's pairs. Sources: llama.cpp, `conversion` and `src/models`.
 */
export const ARCHITECTURES = {
  llama: { family: 'llama', interleaved: true },
  qwen2: { family: 'qwen2', interleaved: false },
  qwen3: { family: 'qwen3', interleaved: false },
  smollm3: { family: 'smollm3', interleaved: true },
  olmo2: { family: 'olmo2', interleaved: false },
  gemma2: { family: 'gemma2', interleaved: false },
  gemma3: { family: 'gemma3_text', interleaved: false },
} as const satisfies Record<string, { readonly family: Family; readonly interleaved: boolean }>;

export type Architecture = keyof typeof ARCHITECTURES;
export const ARCHITECTURE_NAMES = Object.keys(ARCHITECTURES) as Architecture[];

/**
 * Number of layers of the models that scale queries by hiddenSize / heads, which GGUF files do not state:
 * both have 27 B parameters.
 */
export const SCALED_BY_WIDTH: Readonly<Partial<Record<Architecture, number>>> = { gemma2: 46, gemma3: 62 };
