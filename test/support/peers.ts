import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '#lab/free-port.js';
import type { GgufModel, PeerModel } from '#lab/peers/peers-folder.js';
import { checkpointOf, ggufOf, llamaServer, peersFolder, pythonOf } from '#lab/peers/peers-folder.js';
import { type PeerServer, type PeerServerName, startPeer } from '#lab/peers/server.js';

/** Checks files of the peers that a test needs; `reason` lists missing ones, for its name. */
export function needs(...paths: readonly string[]): { readonly missing: boolean; readonly reason: string } {
  const absent = paths
    .filter((path) => !existsSync(path))
    .map((path) => path.replace(`${peersFolder()}/`, ''));
  return {
    missing: absent.length > 0,
    reason: absent.length > 0 ? ` (skipped: ${absent.join(', ')} not set up)` : '',
  };
}

/** Checks the files that a server with a model needs. */
export const needsServer = (name: PeerServerName, model: PeerModel) =>
  name === 'vllm' ? needs(pythonOf('vllm'), checkpointOf(model)) : needs(llamaServer(), ggufOf(model));

/** A real server, by default on a free port. The caller closes it. */
export async function startServer(
  name: PeerServerName,
  model: GgufModel,
  args: readonly string[] = [],
  port?: number,
): Promise<PeerServer> {
  const log = join(mkdtempSync(join(tmpdir(), 'flinch-peer-')), `${name}.log`);
  return startPeer(name, { model, port: port ?? (await freePort()), log, args, timeout: 900_000 });
}
