import { describe, expect, it } from 'vitest';
import { KeptPrompts } from '#gateway/http/kept-prompts.js';

const prompt = (content: string) => ({ structured_messages: [{ role: 'user', content }], tools: null });

describe('KeptPrompts', () => {
  it('finds the prompt of a call, for whoever sent it', () => {
    const prompts = new KeptPrompts();
    prompts.keep('one', 'call', prompt('first'));
    prompts.keep('one', 'call', prompt('second'));
    expect(prompts.find('one', 'call')).toEqual(prompt('second'));
    expect(prompts.find('two', 'call')).toBeNull();
    expect(prompts.find('one', 'other')).toBeNull();
  });

  it('forgets a prompt after ten minutes', () => {
    let now = 0;
    const prompts = new KeptPrompts(() => now);
    prompts.keep('one', 'call', prompt('a'));
    now = 600_000;
    expect(prompts.find('one', 'call')).toBeNull();
  });

  it('forgets the oldest where they are too large together', () => {
    const prompts = new KeptPrompts();
    const large = prompt('a'.repeat(8 << 20));
    for (let i = 0; i < 5; i++) prompts.keep('one', String(i), large);
    expect(prompts.find('one', '0')).toBeNull();
    expect(prompts.find('one', '4')).toEqual(large);
    prompts.keep('one', 'huge', prompt('a'.repeat(40 << 20)));
    expect(prompts.find('one', 'huge')).toBeNull();
  });
});
