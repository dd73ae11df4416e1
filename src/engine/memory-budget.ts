import { EngineError } from './errors.js';
import type { MemoryNeed } from './memory.js';

/** Admits texts as long as what they are predicted to need fits: what they keep, and the largest of their runs. */
export class MemoryBudget {
  readonly limit: number;
  readonly #admitted = new Set<MemoryNeed>();

  /** @param limit bytes */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Bytes predicted for what is admitted. */
  get used(): number {
    return this.#total([...this.#admitted]);
  }

  /**
   * @returns the release; calling it twice does no harm
   * @throws EngineError `too_long` for a text that never fits, `overloaded` for one that does not fit beside the others
   */
  admit(need: MemoryNeed, positions: number): () => void {
    const alone = this.#total([need]);
    if (alone > this.limit) {
      const message = `a text of ${positions} tokens needs about ${megabytes(alone)} of memory, more than the limit of ${megabytes(this.limit)}`;
      throw new EngineError('too_long', message);
    }
    const admitted = { ...need };
    if (this.#total([...this.#admitted, admitted]) > this.limit) {
      const message = `no memory for a text of ${positions} tokens: ${megabytes(this.used)} of ${megabytes(this.limit)} are taken`;
      throw new EngineError('overloaded', message);
    }
    this.#admitted.add(admitted);
    return () => this.#admitted.delete(admitted);
  }

  #total(needs: readonly MemoryNeed[]): number {
    return needs.reduce((sum, { kept }) => sum + kept, 0) + Math.max(0, ...needs.map(({ run }) => run));
  }
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
