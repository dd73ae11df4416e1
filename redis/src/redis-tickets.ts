import { newTicket, TICKET_MS, type TicketStore, ticketHash } from 'flinch/state';
import type { Redis } from './redis.js';
import { keys } from './redis-keys.js';

/**
 * Tickets that any gateway takes, once. They are refused while Redis is away, whatever becomes of limits: a gateway
 * alone cannot know that a ticket was not used.
 * @param now clock, in milliseconds
 */
export const redisTickets = (redis: Redis, now: () => number): TicketStore => ({
  issue: async (owner) => {
    const ticket = newTicket();
    const expiresAtMs = now() + TICKET_MS;
    const expiration = { type: 'PX', value: TICKET_MS } as const;
    await redis.run((client) => client.set(keyOf(ticket), owner, { expiration }));
    return { ticket, expiresAtMs };
  },
  redeem: (ticket) => redis.run((client) => client.getDel(keyOf(ticket))),
});

/** Key of a ticket, by its hash: a reader of Redis gets no ticket. */
const keyOf = (ticket: string): string => keys.ticket(ticketHash(ticket));
