import { newTicket, TICKET_MS, type Ticket, type TicketStore, ticketHash } from 'flinch/state';
import { keys } from './keys.js';
import type { Redis } from './redis.js';

export interface RedisTicketsOptions {
  readonly redis: Redis;
  /** Clock, in milliseconds. */
  readonly now: () => number;
}

/**
 * Tickets that any gateway takes, once. They are refused while Redis is away, whatever becomes of limits: a gateway
 * alone cannot know that a ticket was not used.
 */
export class RedisTickets implements TicketStore {
  readonly #options: RedisTicketsOptions;

  constructor(options: RedisTicketsOptions) {
    this.#options = options;
  }

  /** @throws ApiError 503 `state_unavailable` */
  async issue(owner: string): Promise<Ticket> {
    const { redis, now } = this.#options;
    const ticket = newTicket();
    const expiresAtMs = now() + TICKET_MS;
    await redis.run((client) =>
      client.set(keyOf(ticket), owner, { expiration: { type: 'PX', value: TICKET_MS } }),
    );
    return { ticket, expiresAtMs };
  }

  /** @throws ApiError 503 `state_unavailable` */
  async redeem(ticket: string): Promise<string | null> {
    return this.#options.redis.run((client) => client.getDel(keyOf(ticket)));
  }
}

/** Key of a ticket, by its hash: a reader of Redis gets no ticket. */
const keyOf = (ticket: string): string => keys.ticket(ticketHash(ticket));
