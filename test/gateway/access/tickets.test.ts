import { describe, expect, it } from 'vitest';
import { Tickets } from '#gateway/access/tickets.js';

describe('a ticket', () => {
  let time = 0;
  const tickets = new Tickets<string>(() => time);

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

  it('is refused while very many of the same owner are open', () => {
    const crowded = new Tickets<string>(() => time);
    for (let i = 0; i < 10_000; i++) crowded.issue('web');
    expect(() => crowded.issue('web')).toThrow('too many tickets');
    const { ticket } = crowded.issue('other');
    expect(crowded.redeem(ticket)).toBe('other');
    time += 30_000;
    expect(crowded.issue('web')).toMatchObject({ ticket: expect.any(String) });
  });
});
