import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { fixture } from '../support/graphs.js';
import { HAS_TERMINAL, startOnTerminal } from '../support/pseudo-terminal.js';

/** Starts the chat; what is typed is answered by what comes up to the next prompt, or up to a text. */
function chatWith(...args: readonly string[]) {
  const { child, stdout, finished } = startOnTerminal(['chat', ...args]);
  const shown = (): string => stripVTControlCharacters(stdout());
  const type = async (keys: string, until = /\n[?…] $/): Promise<string> => {
    const from = shown().length;
    child.stdin?.write(keys);
    await expect.poll(() => shown().slice(from)).toMatch(until);
    return shown().slice(from).replaceAll('\r', '');
  };
  return { type, code: async () => (await finished).code };
}

const promptTokens = (text: string): number => Number(/"prompt_tokens":(\d+)/.exec(text)?.[1]);

describe.runIf(HAS_TERMINAL)('flinch chat at a terminal (needs script of util-linux)', () => {
  it('tells the model earlier questions and answers, until it is to forget them', async () => {
    const model = ['--model', fixture('tiny-llama'), '--max-tokens', '8', '--temperature', '0'];
    const chat = chatWith(...model, '--methods', 'nll', '--json');
    const start = await chat.type('');
    expect(start).toContain('tiny-llama: /new forgets the conversation');
    expect(start).not.toContain('single questions');
    const first = await chat.type('hi\n');
    const second = await chat.type('hi\n');
    expect(promptTokens(second)).toBeGreaterThan(promptTokens(first) + 8);
    await chat.type('/new\n');
    expect(promptTokens(await chat.type('hi\n'))).toBe(promptTokens(first));
    await chat.type('/bye\n', /\n$/);
    expect(await chat.code()).toBe(0);
  });

  it('says so if the model knows no conversations', async () => {
    const chat = chatWith('--methods', 'nll');
    expect(await chat.type('')).toContain('single questions only');
    await chat.type('exit\n', /\n$/);
    expect(await chat.code()).toBe(0);
  });

  it('keeps what is typed during an answer for the next prompts, and shows it there', async () => {
    const chat = chatWith(
      '--model',
      fixture('tiny-llama'),
      '--temperature',
      '0',
      '--methods',
      'nll',
      '--json',
    );
    await chat.type('');
    await chat.type('hi\n', /token\.delta/);
    const rest = await chat.type('second one\nthird, not sent', /\? third, not sent$/);
    expect(rest).toContain('\n? second one\n');
    expect(rest.match(/second one|third, not sent/g)).toEqual(['second one', 'third, not sent']);
    await chat.type('\u0015exit\n', /\n$/);
    expect(await chat.code()).toBe(0);
  });

  it('stops an answer at Ctrl-C, says so, and goes on', async () => {
    const chat = chatWith('--model', fixture('tiny-llama'), '--temperature', '0', '--json');
    await chat.type('');
    await chat.type('hi\n', /token\.delta/);
    expect(await chat.type('\u0003')).toContain('flinch: stopped');
    expect(await chat.type('/sytem\n')).toContain('/sytem is no command');
    await chat.type('exit\n', /\n$/);
    expect(await chat.code()).toBe(0);
  });
});
