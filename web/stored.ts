import { NO_SETTINGS, type Settings } from './page-settings.js';

/** What the browser remembers beside the chats: settings for all tabs, and what one tab was about. */

const SETTINGS = 'flinch.settings';
const KEY = 'flinch.api-key';
const DRAFT = 'flinch.draft';
const WRITING = 'flinch.writing';
const CHART = 'flinch.chart';

/** Settings that stay when the page is loaded again: the guard's are those of one visit. */
export function storedSettings(): Settings {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(SETTINGS) ?? '{}');
    const of = (name: 'system' | 'view'): string => {
      const value: unknown = typeof stored === 'object' && stored !== null ? Reflect.get(stored, name) : null;
      return typeof value === 'string' ? value : NO_SETTINGS[name];
    };
    return { ...NO_SETTINGS, system: of('system'), view: of('view') };
  } catch {
    return NO_SETTINGS;
  }
}

export const storeSettings = ({ system, view }: Settings): void =>
  localStorage.setItem(SETTINGS, JSON.stringify({ system, view }));

/** The API key, which is kept as long as the tab is, and goes nowhere but to this server. */
export const storedKey = (): string | null => sessionStorage.getItem(KEY);
export const storeKey = (key: string | null): void => put(sessionStorage, KEY, key);

/** The question that is being typed. */
export const storedDraft = (): string => sessionStorage.getItem(DRAFT) ?? '';
export const storeDraft = (text: string): void => put(sessionStorage, DRAFT, text === '' ? null : text);

/** The answer that was being written when the page was left, with its chat and turn. */
export function storedWriting(): {
  readonly chat: string;
  readonly turn: string;
  readonly lines: string;
} | null {
  const [chat, turn, ...lines] = (sessionStorage.getItem(WRITING) ?? '').split('\n');
  return chat && turn ? { chat, turn, lines: lines.join('\n') } : null;
}

export const forgetWriting = (): void => sessionStorage.removeItem(WRITING);

/** Synchronous: a page that is left is given no time. @returns false for an answer beyond the browser's limit */
export function storeWriting(chat: string, turn: string, lines: string): boolean {
  try {
    sessionStorage.setItem(WRITING, `${chat}\n${turn}\n${lines}`);
    return true;
  } catch {
    return false;
  }
}

export const storedChart = (): boolean | null => {
  const stored = localStorage.getItem(CHART);
  return stored === null ? null : stored === 'open';
};
export const storeChart = (open: boolean): void => localStorage.setItem(CHART, open ? 'open' : 'closed');

function put(storage: Storage, name: string, value: string | null): void {
  if (value === null) storage.removeItem(name);
  else storage.setItem(name, value);
}
