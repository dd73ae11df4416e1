import { createStore, del, entries, get, set, update } from 'idb-keyval';
import { fromLines, type Recording } from './recording.js';

/** What the list of chats shows of one. */
export interface ChatSummary {
  readonly id: string;
  /** The name that it was given, or else its first question. */
  readonly title: string;
  /** When it was last written to, in milliseconds since 1970. */
  readonly atMs: number;
  /** Whether a step or an answer of it was flagged. */
  readonly flagged: boolean;
  /** Questions and answers, to be searched. */
  readonly text: string;
}

/** A name is kept beside the question, which each answer writes anew. Earlier versions of the page kept less. */
type StoredSummary = Pick<ChatSummary, 'title' | 'atMs'> & Partial<ChatSummary> & { readonly name?: string };

/** A turn of a conversation as it is kept: the answers that were drawn for it, and which is shown. */
export interface KeptTurn<Answer = Recording> {
  readonly id: string;
  readonly shown: number;
  readonly variants: readonly Answer[];
}

/** The oldest are deleted first. */
const MAX_CHATS = 200;

/**
 * Chats in the browser's database. Each is kept for itself, and each turn is written in a transaction of its own, so
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
    const all = await entries<string, StoredSummary>(this.#summaries);
    return all
      .map(([id, { name, title, ...summary }]) => ({
        flagged: false,
        text: '',
        ...summary,
        id,
        title: name ?? title,
      }))
      .sort((a, b) => b.atMs - a.atMs);
  }

  /** The turns of a chat; answers that another version of the page wrote and that cannot be read are left out. */
  async load(id: string): Promise<KeptTurn[]> {
    const turns = (await get<Stored[]>(id, this.#answers)) ?? [];
    return turns.map(turnOf).map((turn) => ({ ...turn, variants: turn.variants.flatMap(readable) }));
  }

  /** Writes a turn of a chat, which may be new, in the place of an earlier state of it. */
  async put(chat: ChatSummary, turn: KeptTurn<string>): Promise<void> {
    await this.#change(chat, (turns) =>
      turns.some(({ id }) => id === turn.id)
        ? turns.map((each) => (each.id === turn.id ? turn : each))
        : [...turns, turn],
    );
    for (const old of (await this.list()).slice(MAX_CHATS)) await this.remove(old.id);
  }

  async removeTurn(chat: ChatSummary, turn: string): Promise<void> {
    await this.#change(chat, (turns) => turns.filter(({ id }) => id !== turn));
  }

  async #change(
    { id, ...summary }: ChatSummary,
    change: (turns: KeptTurn<string>[]) => KeptTurn<string>[],
  ): Promise<void> {
    await update<Stored[]>(id, (turns = []) => change(turns.map(turnOf)), this.#answers);
    await update<StoredSummary>(id, (kept) => ({ ...kept, ...summary }), this.#summaries);
    this.#channel.postMessage(id);
  }

  async rename(id: string, name: string): Promise<void> {
    const kept = await get<StoredSummary>(id, this.#summaries);
    if (!kept) return; // Another tab has deleted it.
    await set(id, { ...kept, name }, this.#summaries);
    this.#channel.postMessage(id);
  }

  async remove(id: string): Promise<void> {
    await del(id, this.#summaries);
    await del(id, this.#answers);
    this.#channel.postMessage(id);
  }
}

/** Earlier versions of the page kept one answer for each turn. */
type Stored = KeptTurn<string> | string;

const turnOf = (stored: Stored, place: number): KeptTurn<string> =>
  typeof stored === 'string' ? { id: `${place}`, shown: 0, variants: [stored] } : stored;

function readable(lines: string): Recording[] {
  try {
    return [fromLines(lines)];
  } catch {
    return [];
  }
}
