import { say } from '#cli/terminal.js';
import { peersFolder } from './folder.js';
import { end, recorded } from './running.js';

/** `peers down`: ends servers by their own process ids, and waits until they are gone. */
export async function down(peers: readonly string[]): Promise<void> {
  const root = peersFolder();
  const servers = recorded(root).filter(({ peer }) => peers.length === 0 || peers.includes(peer));
  if (servers.length === 0) say('No server was started.\n');
  for (const server of servers) {
    const ran = await end(root, server);
    say(
      `${server.peer} with ${server.model} (process ${server.pid}): ${ran ? 'ended' : 'had ended before'}\n`,
    );
  }
}
