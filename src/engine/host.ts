import { EngineError } from './engine-errors.js';
import type { FromDecode, FromScore, Role, ToDecode, ToScore } from './engine-messages.js';
import type { ProcessLink } from './engine-process.js';
import type { MemoryNeed } from './memory.js';
import type { MemoryBudget } from './memory-budget.js';
import { Share } from './shared-hold.js';

/** Processes of an engine, and their memory. Engines in several processes may share them. */
export interface EngineHost {
  readonly decode: ProcessLink<ToDecode, FromDecode>;
  readonly score: ProcessLink<ToScore, FromScore>;
  /**
   * @param role the process that has the sequence; one in `decode` is a response
   * @returns the release; calling it twice does no harm
   * @throws EngineError `memory`, `overloaded`
   */
  admit(role: Role, need: MemoryNeed, positions: number): (() => void) | Promise<() => void>;
}

export interface OwnHostOptions extends Pick<EngineHost, 'decode' | 'score'> {
  readonly memory: MemoryBudget;
  readonly maxStreams: number;
}

/** Children of this process, and limits of their own. */
export class OwnHost implements EngineHost {
  readonly decode: EngineHost['decode'];
  readonly score: EngineHost['score'];
  readonly #memory: MemoryBudget;
  readonly #maxStreams: number;
  #streams = 0;

  constructor({ decode, score, memory, maxStreams }: OwnHostOptions) {
    this.decode = decode;
    this.score = score;
    this.#memory = memory;
    this.#maxStreams = maxStreams;
  }

  admit(role: Role, need: MemoryNeed, positions: number): () => void {
    if (role === 'score') return this.#memory.admit(role, need, positions);
    if (this.#streams >= this.#maxStreams) {
      throw new EngineError('overloaded', `${this.#maxStreams} responses are already running`);
    }
    const free = this.#memory.admit(role, need, positions);
    this.#streams += 1;
    const share = new Share(() => {
      this.#streams -= 1;
      free();
    });
    return share.hold();
  }
}
