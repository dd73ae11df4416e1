import { randomBytes } from 'node:crypto';
import { ApiError } from '../errors/api-error.js';
import { sha256 } from './keys.js';

const TICKET_BYTES = 32;
/** Maximum tickets of one owner; they live for seconds. */
const MAX_TICKETS = 10_000;

export interface Ticket {
  readonly ticket: string;
  readonly expiresAtMs: number;
}

/**
 * Tickets by the names of clients. The workers of one port share one store, and so do gateways that share a state.
 */
export interface TicketStore {
  /** @throws ApiError 503 `overloaded` while too many of the owner's are open */
  issue(owner: string): Ticket | Promise<Ticket>;
  /** Owner of a ticket, which cannot be used again. */
  redeem(ticket: string): string | null | Promise<string | null>;
}

/** Lifetime of a ticket: a page uses it at once. */
export const TICKET_MS = 30_000;

/**
 * Short-lived tickets, each good for one connection: a browser cannot send a key with a WebSocket handshake, and what
 * is in an address ends in logs and histories.
 */
export class Tickets<T> {
  readonly #now: () => number;
  /** Tickets by hash, so that a look-up reveals nothing about the others; oldest first. */
  readonly #open = new Map<string, { readonly owner: T; readonly expiresAtMs: number }>();
  /** Number of tickets by owner; owners without tickets are left out. */
  readonly #counts = new Map<T, number>();

  /** @param now clock, in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @throws ApiError 503 `overloaded` while too many of the owner's are open */
  issue(owner: T): Ticket {
    this.#forgetExpired();
    if ((this.#counts.get(owner) ?? 0) >= MAX_TICKETS)
      throw new ApiError('overloaded', 'too many tickets are open');
    const ticket = newTicket();
    const expiresAtMs = this.#now() + TICKET_MS;
    this.#open.set(ticketHash(ticket), { owner, expiresAtMs });
    this.#count(owner, 1);
    return { ticket, expiresAtMs };
  }

  /** Owner of a ticket, which cannot be used again. */
  redeem(ticket: string): T | null {
    const hash = ticketHash(ticket);
    const found = this.#open.get(hash);
    if (!found) return null;
    this.#open.delete(hash);
    this.#count(found.owner, -1);
    return found.expiresAtMs > this.#now() ? found.owner : null;
  }

  #forgetExpired(): void {
    for (const [hash, { owner, expiresAtMs }] of this.#open) {
      if (expiresAtMs > this.#now()) return;
      this.#open.delete(hash);
      this.#count(owner, -1);
    }
  }

  #count(owner: T, change: number): void {
    const count = (this.#counts.get(owner) ?? 0) + change;
    if (count > 0) this.#counts.set(owner, count);
    else this.#counts.delete(owner);
  }
}

export const newTicket = (): string => randomBytes(TICKET_BYTES).toString('base64url');

/** Hash under which a ticket is stored. */
export const ticketHash = (ticket: string): string => sha256(ticket).toString('base64');
