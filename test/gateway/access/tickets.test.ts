import { describe, expect, it } from 'vitest';
import { Tickets } from '#gateway/access/tickets.js';

describe('a ticket', () => {
  let time = 0;
  const tickets = new Tickets(() => time);

  it('is good once', () => {
    const { ticket, expiresAtMs } = tickets.issue('web');
    expect(expiresAtMs).toBe(time + 30_000);
    expect(tickets.redeem(ticket)).toBe('web');
    expect(tickets.redeem(ticket)).toBeNull();
  });

  it('is good until it expires', () => {
    const { ticket: early } = tickets.issue('web');
    const { ticket: late } = tickets.issue('web');
    time += 29_999;
    expect(tickets.redeem(early)).toBe('web');
    time += 1;
    expect(tickets.redeem(late)).toBeNull();
  });

  it('cannot be guessed from another', () => {
    const { ticket } = tickets.issue('web');
    expect(ticket).toMatch(/^[\w-]{43}$/);
    expect(ticket).not.toBe(tickets.issue('web').ticket);
    for (const other of ['', ticket.slice(1), `${ticket}=`, '__proto__'])
      expect(tickets.redeem(other)).toBeNull();
  });
});
