import { fromLines, type Recording, toLines } from './recording.js';

const STORED = 'flinch.history';

/** Browsers give a page about 5 million characters. */
const MOST_CHARACTERS = 3_000_000;
const MOST_ANSWERS = 100;

/** The answers of this chat, kept by the browser until the next one is begun. The oldest are dropped first. */
export class History {
  readonly #storage: Storage;
  #kept: string[];

  constructor(storage: Storage) {
    this.#storage = storage;
    this.#kept = read(storage);
  }

  /** Recordings that can still be read; data that another version of the page wrote is skipped. */
  get recordings(): Recording[] {
    return this.#kept.flatMap((lines) => {
      try {
        return [fromLines(lines)];
      } catch {
        return [];
      }
    });
  }

  add(recording: Recording): void {
    this.#kept.push(toLines(recording));
    let characters = this.#kept.reduce((sum, { length }) => sum + length, 0);
    while (this.#kept.length > MOST_ANSWERS || characters > MOST_CHARACTERS) {
      characters -= this.#kept.shift()?.length ?? 0;
    }
    this.#write();
  }

  clear(): void {
    this.#kept = [];
    this.#storage.removeItem(STORED);
  }

  /** Other pages of this origin may have taken the room. */
  #write(): void {
    for (;;) {
      try {
        this.#storage.setItem(STORED, JSON.stringify(this.#kept));
        return;
      } catch {
        if (this.#kept.length === 0) return;
        this.#kept.shift();
      }
    }
  }
}

function read(storage: Storage): string[] {
  try {
    const stored: unknown = JSON.parse(storage.getItem(STORED) ?? '[]');
    return Array.isArray(stored) ? stored.filter((lines) => typeof lines === 'string') : [];
  } catch {
    return [];
  }
}
