/** How often what happened, by group. */
export class Tally {
  readonly #counts: Record<string, Record<string, number>> = {};

  add(group: string, what: string): void {
    const counts = this.#counts[group] ?? {};
    this.#counts[group] = { ...counts, [what]: (counts[what] ?? 0) + 1 };
  }

  get counts(): Readonly<Record<string, Readonly<Record<string, number>>>> {
    return this.#counts;
  }
}
