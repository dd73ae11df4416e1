import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { flinch } from '../support/cli.js';
import { commandsOf, parseDocument } from '../support/documents.js';

const text = readFileSync('README.md', 'utf8');
const { blocks } = parseDocument('README.md', text);
const wordsOf = (part: string): number => part.split(/\s+/).filter((word) => /\w/.test(word)).length;

describe('README.md', () => {
  it('has at most 700 words, and the commands to run and to test within the first 120', () => {
    expect(wordsOf(text)).toBeLessThanOrEqual(700);
    const command = 'npm test';
    expect(wordsOf(text.slice(0, text.indexOf(command) + command.length))).toBeLessThanOrEqual(120);
  });

  it('shows what its command prints', async () => {
    const [block] = blocks.filter(({ language }) => language === 'console');
    const [, words = ''] = /^npx flinch (.+)$/.exec(commandsOf(block!)) ?? [];
    const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
    const { code, stdout, stderr } = await flinch(args, '');
    expect({ code, output: stdout + stderr }).toEqual({
      code: 0,
      output: `${block!.text.split('\n').slice(1).join('\n')}\n`,
    });
  });
});

describe('the how-tos', () => {
  it.each(readdirSync('docs/how-to'))('%s starts with something to do', (name) => {
    const [, first = ''] = readFileSync(`docs/how-to/${name}`, 'utf8').split('\n\n');
    expect(first).not.toMatch(/\bthis page\b/i);
  });
});
