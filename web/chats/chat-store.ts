import { createStore, del, entries, get, update } from 'idb-keyval';
import { fromLines, type Recording, toLines } from './recording.js';

/** What the list of chats shows of one. */
export interface ChatSummary {
  readonly id: string;
  /** Its first question. */
  readonly title: string;
  /** When it was last written to, in milliseconds since 1970. */
  readonly atMs: number;
}

/** The oldest are deleted first. */
const MAX_CHATS = 200;

/**
 * Chats in the browser's database. Each is kept for itself, and each answer is added in a transaction of its own, so
 * that two tabs do not overwrite each other; they tell each other of changes.
 */
export class ChatStore {
  readonly #summaries = createStore('flinch-chats', 'summaries');
  readonly #answers = createStore('flinch-answers', 'answers');
  readonly #channel = new BroadcastChannel('flinch-chats');
  readonly #changed: (id: string) => void;

  /** @param changed hears that another tab has changed a chat */
  constructor(changed: (id: string) => void) {
    this.#changed = changed;
    this.#channel.addEventListener('message', ({ data }) => this.#changed(String(data)));
  }

  /** All chats, the latest first. */
  async list(): Promise<ChatSummary[]> {
    const all = await entries<string, Omit<ChatSummary, 'id'>>(this.#summaries);
    return all.map(([id, summary]) => ({ id, ...summary })).sort((a, b) => b.atMs - a.atMs);
  }

  /** The answers of a chat; those that another version of the page wrote and that cannot be read are left out. */
  async load(id: string): Promise<Recording[]> {
    const lines = (await get<string[]>(id, this.#answers)) ?? [];
    return lines.flatMap((each) => {
      try {
        return [fromLines(each)];
      } catch {
        return [];
      }
    });
  }

  /** Adds an answer to a chat, which may be new. */
  async add({ id, title, atMs }: ChatSummary, recording: Recording): Promise<void> {
    const lines = toLines(recording);
    await update<string[]>(id, (answers = []) => [...answers, lines], this.#answers);
    await update<Omit<ChatSummary, 'id'>>(
      id,
      (before) => ({ title: before?.title ?? title, atMs }),
      this.#summaries,
    );
    for (const old of (await this.list()).slice(MAX_CHATS)) await this.remove(old.id);
    this.#channel.postMessage(id);
  }

  async remove(id: string): Promise<void> {
    await del(id, this.#summaries);
    await del(id, this.#answers);
    this.#channel.postMessage(id);
  }
}
