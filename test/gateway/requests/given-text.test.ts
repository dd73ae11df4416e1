import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GivenText } from '#gateway/requests/given-text.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

async function all(text: GivenText, most: number): Promise<string[]> {
  const parts: string[] = [];
  for (let part = await text.read(most); part !== null; part = await text.read(most)) parts.push(part);
  return parts;
}

describe('GivenText', () => {
  it('is read in parts that end between characters', async () => {
    expect(await all(GivenText.whole('ab😀cd'), 3)).toEqual(['ab', '😀c', 'd']);
    const text = new GivenText();
    const [high = '', low = ''] = '😀'.split('');
    text.append(high);
    const reading = all(text, 9);
    await Promise.resolve();
    text.append(low);
    text.end();
    expect(await reading).toEqual(['😀']);
  });

  it('knows how many tokens it has at most once it is there', () => {
    expect(GivenText.whole('é').mostTokens).toBe(3);
    expect(new GivenText().mostTokens).toBeNull();
  });

  it('fails for a text that is too long, and takes nothing after its end', async () => {
    await expect(GivenText.whole('abcd', 3).read(9)).rejects.toMatchObject({
      body: { code: 'prompt_too_long', param: 'text' },
    });
    const ended = GivenText.whole('a');
    expect(() => ended.append('b')).toThrow('text: the text has ended');
  });

  it('fails where its next part does not come', async () => {
    const text = new GivenText();
    const reading = expect(text.read(9)).rejects.toMatchObject({ status: 408 });
    await vi.advanceTimersByTimeAsync(120_000);
    await reading;
  });
});
