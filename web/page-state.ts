import { answerText, type ConnectionState, isOver, isWritten } from 'flinch-client';
import { chatJson } from './chats/chat-json.js';
import { ChatStore, type ChatSummary } from './chats/chat-store.js';
import { fromLines, toLines } from './chats/recording.js';
import { ALTERNATIVES, type Exchange, recordingOf, Session, type Turn } from './chats/session.js';
import { type AskTo, guardRequest, problemsOf, type Settings, samplingRequest } from './page-settings.js';
import { Server } from './server/page-connection.js';
import type { Model } from './server/page-models.js';
import {
  forgetWriting,
  storeDraft,
  storedDraft,
  storedKey,
  storedSettings,
  storedWriting,
  storeKey,
  storeSettings,
  storeWriting,
} from './stored.js';
import { sentence } from './words.js';

/** All that the page shows, but for what is opened, pointed at or typed. */
export interface PageState {
  readonly connection: ConnectionState;
  /** Why there is no connection; kept until there is one, so that the notice does not blink with every attempt. */
  readonly lost: string | null;
  /** A question could not be sent, and is still in its box. */
  readonly unsent: boolean;
  readonly problem: string | null;
  /** Whether the server wants a key, and whether it has refused one. */
  readonly key: 'none' | 'needed' | 'refused';
  readonly models: readonly Model[];
  readonly model: Model | null;
  readonly settings: Settings;
  /** Id of the chat on the page, which is in the store only once it has an answer. */
  readonly chat: string;
  /** Whether it is there: a question before would be one of another chat. */
  readonly loaded: boolean;
  readonly turns: readonly Turn[];
  readonly chats: readonly ChatSummary[];
}

const NOTHING: Omit<PageState, 'chat'> = {
  connection: { status: 'connecting' },
  lost: null,
  unsent: false,
  problem: null,
  key: 'none',
  models: [],
  model: null,
  settings: storedSettings(),
  loaded: false,
  turns: [],
  chats: [],
};

/** The state of the page and what changes it. Events are told to listeners once a frame, however many arrive. */
export class Page {
  #state: PageState = { ...NOTHING, chat: chatOfUrl() ?? newId() };
  readonly #listeners = new Set<() => void>();
  #frame = 0;
  readonly #server: Server;
  readonly #session: Session;
  readonly #store: ChatStore;
  /** True while answers of the store are shown: they are not new. */
  #restoring = false;
  /** The page is about to go. */
  #leaving = false;

  constructor() {
    this.#server = new Server({
      state: (connection) => this.#connected(connection),
      models: (models) => this.#offer(models),
      problem: (problem) => this.#set({ problem }),
      keyNeeded: () => {
        const key = storedKey() === null ? 'needed' : 'refused';
        storeKey(null);
        this.#set({ key });
      },
    });
    this.#session = new Session({
      generate: (request) => this.#server.generate(request),
      resume: (point) => this.#server.resume(point),
      nowMs: () => performance.now(),
      changed: (exchange) => this.#changed(exchange),
    });
    this.#store = new ChatStore((id) => void this.#changedElsewhere(id));
    window.addEventListener('pagehide', () => this.#leave());
    window.addEventListener('pageshow', ({ persisted }) => {
      if (persisted) location.reload(); // its connection is gone
    });
    window.addEventListener('popstate', () => {
      const id = chatOfUrl();
      if (id === null) this.#turnTo(newId());
      else if (id !== this.#state.chat) void this.#load(id);
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): PageState => this.#state;

  /** Connects, and shows the chat of the URL. */
  async start(): Promise<void> {
    await Promise.all([this.#list(), this.#show(), this.#server.enter(storedKey())]);
  }

  enter(key: string): void {
    storeKey(key);
    this.#set({ key: 'none', problem: null });
    void this.#server.enter(key);
  }

  dismissKey(): void {
    this.#set({ key: 'none', problem: 'This server asks for an API key.' });
  }

  retry(): void {
    this.#set({ problem: null });
    if (!this.#server.retry()) void this.#server.enter(storedKey());
  }

  choose(model: string): void {
    this.#set({ model: this.#state.models.find(({ id }) => id === model) ?? null });
  }

  change(settings: Partial<Settings>): void {
    this.#set({ settings: { ...this.#state.settings, ...settings } });
    storeSettings(this.#state.settings);
    this.#tell(); // a field shows what was typed in it at once
  }

  /** Sends a question, unless an answer is under way or a setting is not valid: then it stays in its box. */
  ask(text: string, { turn = newId(), model: id = this.#state.model?.id, sampling }: AskTo = {}): boolean {
    const { connection, models, settings, chat } = this.#state;
    const model = models.find((each) => each.id === id);
    if (text.trim() === '') return false;
    this.#set({ unsent: !model || connection.status !== 'open' });
    if (!model || !isReady(this.#state)) return false;
    if (Object.keys(problemsOf(settings, model.policy)).length > 0) return false;
    this.#set({ problem: null });
    history.replaceState(null, '', urlOf(chat));
    const { topLogprobs } = model;
    const options = {
      model: model.id,
      guard: guardRequest(settings, model),
      ...(settings.system.trim() !== '' && { system: settings.system.trim() }),
      ...(topLogprobs !== null && { topLogprobs: Math.min(ALTERNATIVES, topLogprobs) }),
      ...samplingRequest(settings),
      ...sampling,
    };
    this.#session.ask(text.trim(), options, turn);
    return true;
  }

  /** Shows another answer of a turn. */
  show(exchange: Exchange): void {
    this.#session.show(exchange);
    this.#set({ turns: this.#session.turns });
    void this.#keep(exchange);
  }

  async deleteTurn(turn: string): Promise<void> {
    this.#session.remove(turn);
    this.#set({ turns: this.#session.turns });
    const chat = this.#summary();
    if (this.#session.turns.length === 0) return this.deleteChat(chat);
    await this.#stored(() => this.#store.removeTurn(chat, turn));
    await this.#list();
  }

  /** Has the model calibrated while nobody asks. */
  calibrate(): void {
    if (this.#state.model) void this.#server.calibrate(this.#state.model.id);
  }

  stop(): void {
    this.#session.stop();
  }

  /** Each chat is a step of the browser's history. */
  newChat(): void {
    history.pushState(null, '', urlOf(null));
    this.#turnTo(newId());
  }

  async openChat(id: string): Promise<void> {
    if (id === this.#state.chat) return;
    history.pushState(null, '', urlOf(id));
    await this.#load(id);
  }

  #turnTo(chat: string): void {
    this.#session.stop();
    this.#session.clear();
    this.#set({ chat, loaded: true, turns: [], problem: null });
  }

  async #load(chat: string): Promise<void> {
    this.#turnTo(chat);
    await this.#show();
  }

  async renameChat(id: string, name: string): Promise<void> {
    await this.#stored(() => this.#store.rename(id, name));
    await this.#list();
  }

  /** Hands over a chat as a file. */
  exportChat({ id, title }: ChatSummary): Promise<void> {
    return this.#stored(async () =>
      download(`${title.slice(0, 60)}.json`, chatJson(await this.#store.load(id))),
    );
  }

  async deleteChat({ id }: ChatSummary): Promise<void> {
    if (id === this.#state.chat) {
      history.replaceState(null, '', urlOf(null));
      this.#turnTo(newId());
    }
    await this.#stored(() => this.#store.remove(id));
    await this.#list();
  }

  #connected(connection: ConnectionState): void {
    const { lost } = this.#state;
    if (connection.status === 'waiting')
      this.#set({ connection, lost: `${sentence(connection.error.message)} Reconnecting…` });
    else if (connection.status === 'closed' && connection.error)
      this.#set({ connection, lost: sentence(connection.error.message) });
    else if (connection.status === 'open') {
      this.#set({ connection, lost: null, unsent: false });
      if (lost !== null) void this.#server.refresh();
    } else this.#set({ connection });
  }

  #offer(models: readonly Model[]): void {
    const before = this.#state.model?.id;
    this.#set({ models, model: models.find(({ id }) => id === before) ?? models[0] ?? null });
    this.#resumeChats();
  }

  #changed(exchange: Exchange): void {
    this.#set({ turns: this.#session.turns });
    const isKept = isOver(exchange.answer) || exchange.events.at(-1)?.event.type === 'text.done';
    if (this.#restoring || this.#leaving || !isKept) return;
    if (exchange.answer.phase === 'failed') void this.#server.refresh();
    void this.#keep(exchange);
  }

  /** The chat on the page, as the list of chats shows it. */
  #summary(): ChatSummary {
    const shown = this.#session.exchanges;
    return {
      id: this.#state.chat,
      title: shown[0]?.question ?? '',
      atMs: Date.now(),
      flagged: shown.some(({ answer }) => answer.flags.length > 0 || answer.verdict?.flagged === true),
      text: shown.map(({ question, answer }) => `${question}\n${answerText(answer)}`).join('\n'),
    };
  }

  async #keep({ turn: id }: Exchange): Promise<void> {
    const turn = this.#session.turns.find((each) => each.id === id);
    if (!turn) return;
    const chat = this.#summary();
    const variants = turn.variants.map((each) => toLines(recordingOf(each)));
    await this.#stored(() =>
      this.#store.put(chat, { id, shown: turn.variants.indexOf(turn.shown), variants }),
    );
    await this.#list();
  }

  #list(): Promise<void> {
    return this.#stored(async () => this.#set({ chats: await this.#store.list() }));
  }

  /** Shows what the store has of the chat. */
  async #show(): Promise<void> {
    const { chat } = this.#state;
    this.#set({ loaded: false });
    await this.#stored(async () => {
      const turns = await this.#store.load(chat);
      // Meanwhile somebody may have gone elsewhere, or asked.
      if (chat !== this.#state.chat || this.#session.current) return;
      this.#restoring = true;
      this.#session.clear();
      for (const { id, variants } of turns)
        for (const recording of variants) this.#session.open(recording, id);
      this.#session.turns.forEach(({ id, variants }) => {
        const shown = variants[turns.find((turn) => turn.id === id)?.shown ?? 0];
        if (shown) this.#session.show(shown);
      });
      this.#restoring = false;
      this.#set({ turns: this.#session.turns });
    });
    this.#set({ loaded: true });
    this.#resumeChats();
  }

  async #stored(use: () => Promise<void>): Promise<void> {
    try {
      await use();
    } catch (error) {
      this.#set({ problem: `This browser does not keep chats: ${String(error)}` });
    }
  }

  /** Goes on with the answer of this chat that was being written when the page was left. */
  #resumeChats(): void {
    const writing = storedWriting();
    if (!writing || writing.chat !== this.#state.chat) return;
    if (!this.#state.loaded || this.#state.model === null || this.#session.current) return;
    forgetWriting();
    this.#session.resume(fromLines(writing.lines), writing.turn);
  }

  async #changedElsewhere(id: string): Promise<void> {
    await this.#list();
    if (id === this.#state.chat && !this.#session.current) await this.#show();
  }

  /** The answer under way stays on the server, and goes on when the page is loaded again. */
  #leave(): void {
    const { current } = this.#session;
    if (!current) return;
    this.#leaving = true;
    const recording = recordingOf(current);
    if (recording.events.length === 0) {
      if (storedDraft() === '') storeDraft(current.question);
      return;
    }
    // What the server tells again need not be kept.
    const short = { ...recording, events: recording.events.slice(0, 1) };
    if ([recording, short].some((each) => storeWriting(this.#state.chat, current.turn, toLines(each))))
      this.#server.detach();
  }

  #set(change: Partial<PageState>): void {
    this.#state = { ...this.#state, ...change };
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => this.#tell());
  }

  #tell(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    for (const listener of this.#listeners) listener();
  }
}

export const isReady = ({ connection, model, loaded, turns }: PageState): boolean =>
  loaded &&
  connection.status === 'open' &&
  model !== null &&
  turns.every(({ shown }) => isWritten(shown.answer));

const chatOfUrl = (): string | null => /^#([\w-]{8,})$/.exec(location.hash)?.[1] ?? null;
const urlOf = (chat: string | null): string =>
  location.pathname + location.search + (chat === null ? '' : `#${chat}`);

function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** `crypto.randomUUID` is missing in pages that came by plain HTTP. */
const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
