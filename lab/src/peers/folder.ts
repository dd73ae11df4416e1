import { homedir } from 'node:os';
import { join } from 'node:path';
import { GGUF_ONLY, type GgufModel, isPeerModel, MODELS, type PeerModel } from './models.js';

/** Folder of the peers: `$FLINCH_PEERS`, else in the user's cache. Never in the repository. */
export function peersFolder(): string {
  const { FLINCH_PEERS, XDG_CACHE_HOME } = process.env;
  return FLINCH_PEERS || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'flinch', 'peers');
}

/** The Python of an environment. */
export const pythonOf = (environment: string): string =>
  join(peersFolder(), 'environments', environment, 'bin', 'python');

/** The server of llama.cpp. */
export const llamaServer = (): string => join(peersFolder(), 'llama-cpp', 'llama-server');

/** A model's checkpoint (a folder in the Hugging Face layout) or GGUF file. */
export const checkpointOf = (model: PeerModel): string => MODELS[model].checkpoint(peersFolder());
export const ggufOf = (model: GgufModel): string =>
  (isPeerModel(model) ? MODELS[model] : GGUF_ONLY[model]).gguf(peersFolder());

/** MiniLM as an encoder's folder. */
export const minilmFolder = (): string => join(peersFolder(), 'models', 'minilm');

/** llama.cpp for Node. */
export const nodeLlamaFolder = (): string => join(peersFolder(), 'node-llama-cpp');

/**
 * Has flinch keep what it makes of models in another folder, where it is of no use to anybody afterwards. The peers' folder
 * stays where it is.
 */
export async function withCacheIn<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const { FLINCH_PEERS, XDG_CACHE_HOME } = process.env;
  Object.assign(process.env, { FLINCH_PEERS: peersFolder(), XDG_CACHE_HOME: folder });
  try {
    return await work();
  } finally {
    restore('FLINCH_PEERS', FLINCH_PEERS);
    restore('XDG_CACHE_HOME', XDG_CACHE_HOME);
  }
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
