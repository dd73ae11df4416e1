import type { SharedAccess } from '../access/access.js';
import type { Usage } from '../access/usage.js';
import type { Channel } from './channel.js';
import type { PrimarySide } from './worker-messages.js';

/** Limits and tickets that the primary process keeps for all workers. */
export function remoteAccess(primary: Channel<PrimarySide>): SharedAccess {
  const held = async (asked: Promise<number | null>) => {
    const slot = await asked;
    return slot === null ? null : () => primary.tell('release', slot);
  };
  const usage: Usage = {
    request: (client, perMinute, units) => primary.call('countRequest', client, perMinute, units),
    take: (pool, most) => held(primary.call('take', pool, most)),
    share: (pool, most, client) => held(primary.call('share', pool, most, client)),
  };
  const tickets = {
    issue: (owner: string) => primary.call('issueTicket', owner),
    redeem: (ticket: string) => primary.call('redeemTicket', ticket),
  };
  return { usage, tickets };
}
