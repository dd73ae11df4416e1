import { describe, expect, it } from 'vitest';
import { wordWrap } from '#cli/chat/word-wrap.js';

/** What stands in a terminal after texts that come one by one. */
function wrapped(columns: number, ...texts: readonly string[]): string {
  let all = '';
  const write = wordWrap(
    (text) => {
      all += text;
    },
    () => columns,
  );
  for (const text of [...texts, '\n']) write(text);
  return all;
}

describe('wordWrap', () => {
  it('breaks lines between words, wherever tokens end', () => {
    expect(wrapped(12, 'The sea is', ' va', 'st, un', 'for', 'giving.')).toBe(
      'The sea is\nvast,\nunforgiving.\n',
    );
    expect(wrapped(10, 'one two ab', 'c')).toBe('one two\nabc\n');
    expect(wrapped(10, 'one two ab', ' c')).toBe('one two ab\nc\n');
  });

  it('keeps line breaks, indents, and words that are wider than a line', () => {
    expect(wrapped(8, 'a\n\n    if x', ' then')).toBe('a\n\n    if x\nthen\n');
    expect(wrapped(4, 'a abcdefgh b')).toBe('a\nabcdefgh\nb\n');
  });

  it('breaks between wide characters, which stand without blanks', () => {
    expect(wrapped(8, '北京是', '中国的首都。')).toBe('北京是中\n国的首都\n。\n');
    expect(wrapped(8, 'über café\u0301s ok')).toBe('über\ncafé\u0301s ok\n');
  });

  it('counts no colours, and gives none to a line break', () => {
    let all = '';
    const write = wordWrap(
      (text) => {
        all += text;
      },
      () => 8,
    );
    write('\x1b[2mdim\x1b[22m one');
    write(' two', (part) => `<${part}>`);
    write('\n');
    expect(all).toBe('\x1b[2mdim\x1b[22m one\n<two>\n');
  });
});
