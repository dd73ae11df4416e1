import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../files/file-errors.js';

/** Settings in the environment variables of the hub's own tools (huggingface_hub). */
export interface HubSettings {
  /** Address without a slash at its end. */
  readonly endpoint: string;
  readonly token: string | null;
  /** The folder of the cache that the hub's tools share. */
  readonly cache: string;
  /** Whether requests to the hub are forbidden. */
  readonly offline: boolean;
}

const PUBLIC = 'https://huggingface.co';

/** @throws UsageError for an endpoint that is no URL */
export function hubSettings(env: NodeJS.ProcessEnv): HubSettings {
  const { HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, XDG_CACHE_HOME } = env;
  const endpoint = (HF_ENDPOINT || PUBLIC).replace(/\/+$/, '');
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))
    throw new UsageError(`HF_ENDPOINT: must be a URL that begins with http:// or https://, not ${endpoint}`);
  const home = HF_HOME || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'huggingface');
  return {
    endpoint,
    token: HF_TOKEN?.trim() || readToken(HF_TOKEN_PATH || join(home, 'token')),
    cache: HF_HUB_CACHE || join(home, 'hub'),
    offline: /^(1|on|yes|true)$/i.test(HF_HUB_OFFLINE ?? ''),
  };
}

/** Reads the token from the file that `hf auth login` writes. */
function readToken(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim() || null;
  } catch {
    return null; // not logged in
  }
}
