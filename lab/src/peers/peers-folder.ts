import { homedir } from 'node:os';
import { join } from 'node:path';
import { reasonerPath } from '#src/package-root.js';

/** Folder of the peers: `$FLINCH_PEERS`, else in the user's cache. Never in the repository. */
export function peersFolder(): string {
  const { FLINCH_PEERS, XDG_CACHE_HOME } = process.env;
  return FLINCH_PEERS || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'flinch', 'peers');
}

/** Models as GGUF files, which llama.cpp reads, below the peers' folder. */
export const GGUF = {
  reasoner: 'models/reasoner.gguf',
  smollm2: 'models/smollm2.Q4_1.gguf',
  gemma3: 'models/gemma3.Q4_K_M.gguf',
  'qwen-0.5b': 'models/qwen-0.5b.Q4_K_M.gguf',
  'qwen-1.5b': 'models/qwen-1.5b.Q4_K_M.gguf',
} as const;
export type GgufModel = keyof typeof GGUF;

/** A model that is there as a checkpoint, too, which vLLM needs. */
export type PeerModel = 'reasoner' | 'smollm2';
export const isPeerModel = (model: string): model is PeerModel => model === 'reasoner' || model === 'smollm2';

export const SMOLLM2 = 'models/smollm2';

export const ggufOf = (model: GgufModel): string => join(peersFolder(), GGUF[model]);
/** A folder in the Hugging Face layout. */
export const checkpointOf = (model: PeerModel): string =>
  model === 'reasoner' ? reasonerPath : join(peersFolder(), SMOLLM2);

/** The Python of an environment. */
export const pythonOf = (environment: string): string =>
  join(peersFolder(), 'environments', environment, 'bin', 'python');

/** The server of llama.cpp. */
export const llamaServer = (): string => join(peersFolder(), 'llama-cpp', 'llama-server');

/** llama.cpp for Node. */
export const nodeLlamaFolder = (): string => join(peersFolder(), 'node-llama-cpp');
