import { hashedKeys } from '../../gateway/access/access-keys.js';
import { reloaded } from '../../gateway/config/reloaded.js';
import { checkSecretFiles } from '../../gateway/config/secret.js';
import { Channel, type Message } from '../../gateway/workers/channel.js';
import type { ChangedSide } from './read-changed.js';
import { serveConfig } from './serve-config.js';

/**
 * Entry of the process that reads a changed configuration for a gateway that serves: parsing thousands of keys takes
 * seconds, and a file system that has gone cannot be left within a process. Signals are for the gateway, which ends it.
 */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

const side: ChangedSide = {
  read: async (flags, running) => {
    const { config, restart } = reloaded(running, await serveConfig(flags, process.env));
    // Other secrets are read at the start alone.
    await checkSecretFiles({ access: config.access });
    return { config, restart, keys: hashedKeys(config.access.keys, process.env) };
  },
};

const gateway = new Channel<Record<string, never>>((message) => process.send?.(message, () => {}), {
  ...side,
});
process.on('message', (message: Message) => gateway.receive(message));
