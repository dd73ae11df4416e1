import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KeyConfig } from '../../gateway/config/access-section.js';
import type { Config } from '../../gateway/config/gateway-config.js';
import type { Reloaded } from '../../gateway/config/reloaded.js';
import { Channel, type Message } from '../../gateway/workers/channel.js';
import { ChildLink } from '../../src/engine/child-link.js';
import type { ServeFlags } from './serve-config.js';

const ENTRY = fileURLToPath(new URL(`./reload-process${extname(import.meta.url)}`, import.meta.url));

/** Beyond the time that a single file may take (src/files/regular-file.ts). */
const READ_MS = 60_000;

export interface Changed extends Reloaded {
  /** The keys of the configuration, with their hashes in place of variables and files. */
  readonly keys: readonly KeyConfig[];
}

/** Methods of the process that reads. */
export interface ChangedSide {
  read(flags: ServeFlags, running: Config): Promise<Changed>;
}

/**
 * Reads a changed configuration in a process of its own, and finds what it means for the gateway that runs.
 * @param running configuration in force
 * @param signal gives it up
 * @throws Error that says where what is refused came from
 */
export async function readChanged(flags: ServeFlags, running: Config, signal: AbortSignal): Promise<Changed> {
  const link = new ChildLink<Message>({
    entry: ENTRY,
    env: process.env,
    stallMs: undefined,
    receive: (message) => channel.receive(message),
    ended: ({ reason }) => channel.close(new Error(`reading the configuration ended: ${reason}`)),
  });
  const channel = new Channel<ChangedSide>((message) => link.send(message), {});
  const late = new Error(`the configuration is not read within ${READ_MS / 1000} s`);
  const timer = setTimeout(() => channel.close(late), READ_MS);
  const giveUp = (): void => channel.close(new Error('the gateway is closed'));
  signal.addEventListener('abort', giveUp);
  try {
    return await channel.call('read', flags, running);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
    await link.close();
  }
}
