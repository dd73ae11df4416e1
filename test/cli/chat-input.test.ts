import { describe, expect, it } from 'vitest';
import { ChatLines } from '#cli/chat-input.js';

const read = (...lines: string[]) => {
  const chat = new ChatLines();
  return lines.map((line) => chat.read(line));
};

describe('what is typed in a chat', () => {
  it.each([
    [' What is 2 + 2? ', { type: 'question', text: 'What is 2 + 2?' }],
    ['/etc/hosts: what is it for?', { type: 'question', text: '/etc/hosts: what is it for?' }],
    ['exit the loop how?', { type: 'question', text: 'exit the loop how?' }],
    ['/help', { type: 'help' }],
    ['/new', { type: 'new' }],
    ['/bye', { type: 'bye' }],
    ['exit', { type: 'bye' }],
    ['/system Be brief.', { type: 'system', text: 'Be brief.' }],
    ['/system', { type: 'system', text: undefined }],
    ['/save chat.json', { type: 'save', file: 'chat.json' }],
    ['/save', { type: 'wrong', problem: '/save needs a file' }],
    ['/sytem Be brief.', { type: 'wrong', problem: '/sytem is no command; /help lists them' }],
    ['  ', null],
  ])('%j', (line, input) => {
    expect(read(line)).toEqual([input]);
  });

  it('takes several lines between quotes for one question, commands among them', () => {
    const text = 'What does this say?\n  /help\n\nexit';
    expect(read('"""', 'What does this say?', '  /help', '', 'exit', '"""')).toEqual([
      ...[null, null, null, null, null],
      { type: 'question', text },
    ]);
    expect(read('"""What', 'now?"""')).toEqual([null, { type: 'question', text: 'What\nnow?' }]);
    expect(read('"""What?"""', '"""', '"""')).toEqual([{ type: 'question', text: 'What?' }, null, null]);
  });

  it('tells whether a question is not over', () => {
    const chat = new ChatLines();
    const isOpen = (line: string): boolean => {
      chat.read(line);
      return chat.isOpen;
    };
    expect(['a', '"""', 'a', '"""'].map(isOpen)).toEqual([false, true, true, false]);
  });
});
