import { spawn, spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { CLI_ENTRY } from '#cli/entry.js';
import { fixture } from '../support/graphs.js';

/** `script` of util-linux runs a command at a terminal of its own. */
const terminal = spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') ?? false;

class Terminal {
  readonly #child;
  #text = '';
  readonly finished: Promise<number | null>;

  constructor(args: readonly string[]) {
    const command = [process.execPath, CLI_ENTRY, 'chat', ...args].map((word) => `'${word}'`).join(' ');
    this.#child = spawn('script', ['-qefc', command, '/dev/null']);
    this.#child.stdout.on('data', (data) => (this.#text += stripVTControlCharacters(String(data))));
    this.finished = new Promise((resolve) => this.#child.on('close', resolve));
  }

  /** Types, and reads what comes up to the next prompt, or up to a text. */
  async type(keys: string, until = /\n[?…] $/): Promise<string> {
    const from = this.#text.length;
    this.#child.stdin.write(keys);
    await expect.poll(() => this.#text.slice(from)).toMatch(until);
    return this.#text.slice(from).replaceAll('\r', '');
  }
}

const promptTokens = (text: string): number => Number(/"prompt_tokens":(\d+)/.exec(text)?.[1]);

describe.skipIf(!terminal)('flinch chat at a terminal (needs script of util-linux)', () => {
  it('tells the model earlier questions and answers, until it is to forget them', async () => {
    const model = ['--model', fixture('tiny-llama'), '--max-tokens', '8', '--temperature', '0'];
    const chat = new Terminal([...model, '--methods', 'nll', '--json']);
    const start = await chat.type('');
    expect(start).toContain('tiny-llama: /new forgets the conversation');
    expect(start).not.toContain('single questions');
    const first = await chat.type('hi\n');
    const second = await chat.type('hi\n');
    expect(promptTokens(second)).toBeGreaterThan(promptTokens(first) + 8);
    await chat.type('/new\n');
    expect(promptTokens(await chat.type('hi\n'))).toBe(promptTokens(first));
    await chat.type('/bye\n', /\n$/);
    expect(await chat.finished).toBe(0);
  });

  it('says so if the model knows no conversations', async () => {
    const chat = new Terminal(['--methods', 'nll']);
    expect(await chat.type('')).toContain('single questions only');
    await chat.type('exit\n', /\n$/);
    expect(await chat.finished).toBe(0);
  });

  it('stops an answer at Ctrl-C, says so, and goes on', async () => {
    const chat = new Terminal(['--model', fixture('tiny-llama'), '--temperature', '0', '--json']);
    await chat.type('');
    await chat.type('hi\n', /token\.delta/);
    expect(await chat.type('\u0003')).toContain('flinch: stopped');
    expect(await chat.type('/sytem\n')).toContain('/sytem is no command');
    await chat.type('exit\n', /\n$/);
    expect(await chat.finished).toBe(0);
  });
});
