import { describe, expect, it } from 'vitest';
import { FlinchError } from '#client/errors.js';
import { History } from '#web/history.js';
import type { Recording } from '#web/recording.js';
import { created, done, numbered, token } from '../client/fake-server.js';

/** Storage with room for so many characters. */
function storage(room = 5_000_000): Storage {
  const items = new Map<string, string>();
  return {
    get length() {
      return items.size;
    },
    clear: () => items.clear(),
    key: (index) => [...items.keys()][index] ?? null,
    getItem: (key) => items.get(key) ?? null,
    removeItem: (key) => void items.delete(key),
    setItem: (key, value) => {
      if (value.length > room) throw new DOMException('full', 'QuotaExceededError');
      items.set(key, value);
    },
  };
}

const events = numbered([created(), token(0, 'So'), done]).map((event, index) => ({ atMs: index, event }));
const recording = (question: string): Recording => ({ question, model: 'm', events, error: null });
const questions = (store: Storage) => new History(store).recordings.map(({ question }) => question);

describe('the history of the page', () => {
  it('survives a reload, failed answers included', () => {
    const store = storage();
    const history = new History(store);
    history.add(recording('one'));
    history.add({ ...recording('two'), events: [], error: new FlinchError('overloaded', 'no slot') });
    const [one, two] = new History(store).recordings;
    expect(one).toEqual(recording('one'));
    expect(two).toMatchObject({ question: 'two', error: { code: 'overloaded', message: 'no slot' } });
  });

  it('is forgotten for a new chat', () => {
    const store = storage();
    const history = new History(store);
    history.add(recording('one'));
    history.clear();
    expect([questions(store), store.length]).toEqual([[], 0]);
    history.add(recording('two'));
    expect(questions(store)).toEqual(['two']);
  });

  it('drops the oldest beyond a hundred answers, and beyond its characters', () => {
    const store = storage();
    const history = new History(store);
    for (let number = 0; number < 102; number++) history.add(recording(String(number)));
    expect(questions(store)).toEqual(Array.from({ length: 100 }, (_, number) => String(number + 2)));
    history.add(recording('x'.repeat(2_980_000)));
    expect(questions(store).length).toBeLessThan(50);
    expect(questions(store).at(-1)).toHaveLength(2_980_000);
  });

  it('drops the oldest where the browser has no more room', () => {
    const store = storage(2000);
    const history = new History(store);
    for (const question of ['one', 'two', 'three', 'four']) history.add(recording(question));
    const kept = questions(store);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThan(4);
    expect(kept.at(-1)).toBe('four');
  });

  it('leaves out what it cannot read', () => {
    const store = storage();
    store.setItem('flinch.history', '["of another version"]');
    expect(questions(store)).toEqual([]);
    store.setItem('flinch.history', '{broken');
    expect(questions(store)).toEqual([]);
  });
});
