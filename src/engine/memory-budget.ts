import { EngineError } from './engine-errors.js';
import type { Role } from './engine-messages.js';
import type { MemoryNeed } from './memory.js';

interface Admitted extends MemoryNeed {
  readonly role: Role;
}

/**
 * Admits sequences as long as what they are predicted to need fits: what they keep, and for each of the two processes the
 * largest of its runs.
 */
export class MemoryBudget {
  readonly limit: number;
  readonly #admitted = new Set<Admitted>();

  /** @param limit bytes */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Bytes predicted for what is admitted. */
  get used(): number {
    return total([...this.#admitted]);
  }

  /**
   * @param role the process that it is for
   * @returns the release; calling it twice does no harm
   * @throws EngineError `memory` for a sequence that never fits, `overloaded` for one that does not fit beside the others
   */
  admit(role: Role, need: MemoryNeed, positions: number): () => void {
    const admitted = { ...need, role };
    const alone = total([admitted]);
    if (alone > this.limit) {
      const message = `a sequence of up to ${positions} tokens needs about ${megabytes(alone)} of memory, more than the limit of ${megabytes(this.limit)}; use fewer tokens, samples or candidates`;
      throw new EngineError('memory', message);
    }
    if (total([...this.#admitted, admitted]) > this.limit) {
      const message = `not enough memory for a sequence of up to ${positions} tokens: ${megabytes(this.used)} of ${megabytes(this.limit)} are in use`;
      throw new EngineError('overloaded', message);
    }
    this.#admitted.add(admitted);
    return () => this.#admitted.delete(admitted);
  }
}

function total(needs: readonly Admitted[]): number {
  const kept = needs.reduce((sum, need) => sum + need.kept, 0);
  const run = (role: Role): number =>
    Math.max(0, ...needs.filter((need) => need.role === role).map((need) => need.run));
  return kept + run('decode') + run('score');
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;
