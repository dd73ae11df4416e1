import type { ReadGeneration, Sink } from './live-generation.js';

export interface RemoteOptions {
  readonly act: (action: 'detach' | 'discard' | 'cancel') => void;
  /** The generation is read no more. Called once. */
  readonly over: () => void;
}

/** A generation of another process as a connection of this one reads it. */
export abstract class RemoteGeneration implements ReadGeneration {
  abstract readonly id: string;
  abstract readonly model: string;
  sink: Sink | null = null;
  readonly #options: RemoteOptions;
  #over = false;

  constructor(options: RemoteOptions) {
    this.#options = options;
  }

  abstract pause(): void;
  abstract resume(): void;

  get over(): boolean {
    return this.#over;
  }

  detach(): void {
    this.leave('detach');
  }

  discard(): void {
    this.leave('discard');
  }

  cancel(): void {
    if (!this.#over) this.#options.act('cancel');
  }

  protected leave(action: 'detach' | 'discard'): void {
    if (this.#over) return;
    this.#options.act(action);
    this.end();
  }

  protected end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.over();
  }
}
