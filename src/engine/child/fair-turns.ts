/**
 * Chooses the next client, so that all clients with work get the same time (start-time fair queueing, Goyal,
 * Vin and Cheng 1996): the client that has had the least. A client that returns after a pause cannot claim
 * the time before.
 */
export class FairTurns {
  /** Time that each client has had on the virtual clock; only for clients ahead of it. */
  readonly #served = new Map<string, number>();
  #clock = 0;

  /** @param clients of what waits, those that have waited longest first */
  next(clients: readonly string[]): string | undefined {
    const next = clients.toSorted((a, b) => this.#start(a) - this.#start(b))[0];
    if (next === undefined) return undefined;
    this.#clock = this.#start(next);
    for (const [client, served] of this.#served) if (served <= this.#clock) this.#served.delete(client);
    return next;
  }

  /** @param time that each of these has had */
  charge(clients: readonly string[], time: number): void {
    for (const client of clients) this.#served.set(client, this.#start(client) + time);
  }

  #start(client: string): number {
    return Math.max(this.#clock, this.#served.get(client) ?? 0);
  }
}
