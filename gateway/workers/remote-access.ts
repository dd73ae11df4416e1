import type { SharedAccess } from '../access/access.js';
import type { Usage } from '../access/usage.js';
import { ApiError } from '../errors/api-error.js';
import type { Channel } from './channel.js';
import type { PrimarySide } from './protocol.js';

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
    issue: async (owner: string) => {
      const ticket = await primary.call('issueTicket', owner);
      if (ticket) return ticket;
      throw new ApiError('overloaded', 'too many tickets are open');
    },
    redeem: (ticket: string) => primary.call('redeemTicket', ticket),
  };
  return { usage, tickets };
}
