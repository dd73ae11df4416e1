import { randomBytes } from 'node:crypto';
import { sha256 } from './access-keys.js';

const TICKET_BYTES = 32;

export interface Ticket {
  readonly ticket: string;
  readonly expiresAtMs: number;
}

/**
 * Tickets by the names of clients. The workers of one port share one store, and so do gateways that share a state.
 */
export interface TicketStore {
  /** @throws ApiError 503 `state_unavailable` without the state that is shared */
  issue(owner: string): Ticket | Promise<Ticket>;
  /** Owner of a ticket, which cannot be used again. */
  redeem(ticket: string): string | null | Promise<string | null>;
}

/** Lifetime of a ticket: a page uses it at once. */
export const TICKET_MS = 30_000;

/**
 * Short-lived tickets, each good for one connection: a browser cannot send a key with a WebSocket handshake, and what
 * is in an address ends in logs and histories. The rate limit of the owner bounds how many are open.
 */
export class Tickets {
  readonly #now: () => number;
  /** Tickets by hash, so that a look-up reveals nothing about the others; oldest first. */
  readonly #open = new Map<string, { readonly owner: string; readonly expiresAtMs: number }>();

  /** @param now clock, in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  issue(owner: string): Ticket {
    for (const [hash, { expiresAtMs }] of this.#open) {
      if (expiresAtMs > this.#now()) break;
      this.#open.delete(hash);
    }
    const ticket = newTicket();
    const expiresAtMs = this.#now() + TICKET_MS;
    this.#open.set(ticketHash(ticket), { owner, expiresAtMs });
    return { ticket, expiresAtMs };
  }

  redeem(ticket: string): string | null {
    const hash = ticketHash(ticket);
    const found = this.#open.get(hash);
    this.#open.delete(hash);
    return found && found.expiresAtMs > this.#now() ? found.owner : null;
  }
}

export const newTicket = (): string => randomBytes(TICKET_BYTES).toString('base64url');

/** Hash under which a ticket is stored. */
export const ticketHash = (ticket: string): string => sha256(ticket).toString('base64');
