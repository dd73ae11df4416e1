import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { reasonerPath } from '#src/package-root.js';
import { DEFAULT_METHODS } from '#src/uncertainty/method-names.js';
import { flinch, jsonLines, shell, start } from '../support/cli.js';
import { chatBody, mergeTokens, post, readChunks, useGateway } from '../support/gateway.js';
import { HAS_TERMINAL, startOnTerminal } from '../support/pseudo-terminal.js';
import { LONG_QUESTION, PLAIN_QUESTION as QUESTION } from '../support/requests.js';

const gateway = useGateway(async () => reasonerPath);

/** Scores that nobody has calibrated. */
const OTHER = ['--color', 'adversarial', '--scoring', 'alpha=1e-3'];

describe('flinch chat', () => {
  it('prints plain text when nobody sees colours: the answer that the gateway gives', async () => {
    const messages = [{ role: 'user', content: QUESTION }];
    const { chunks } = await readChunks(await post(gateway.url, chatBody({ stream: true, messages })));
    const { code, stdout, stderr } = await flinch(['chat', '--temperature', '0', QUESTION]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(
      `${mergeTokens(chunks)
        .map(({ text }) => text)
        .join('')}\n\nnothing flagged; judged by nll\n`,
    );
  });

  it('prints the same without scoring, and from standard input', async () => {
    const { stdout } = await flinch(['chat', '--temperature', '0', QUESTION]);
    const unscored = await flinch(['chat', '--temperature', '0', '--no-score', QUESTION]);
    expect(`${unscored.stdout}\nnothing flagged; judged by nll\n`).toBe(stdout);
    expect((await flinch(['chat', '--temperature', '0'], `${QUESTION}\n`)).stdout).toBe(stdout);
  });

  it('colours tokens by their risk as the page does, with a legend', async () => {
    const { stdout } = await flinch(['chat', '--temperature', '0', QUESTION], '', {
      FORCE_COLOR: '3',
      COLORTERM: 'truecolor',
    });
    expect(stdout).toContain('\u001b[48;2;'); // a background in true colour
    expect(stdout).toMatch(/nll:.*ordinary.*higher than 98\.0 % of ordinary tokens or more/);
    const uncalibrated = await flinch(['chat', ...OTHER, '--max-tokens', '10', QUESTION], '', {
      FORCE_COLOR: '3',
    });
    expect(stripVTControlCharacters(uncalibrated.stdout)).toMatch(
      /adversarial: certain .* uncertain \(0\.\d+, not calibrated\)\nnothing flagged; judged by adversarial; steps and answers cannot be judged yet: not calibrated, and fewer than 50 in this chat/,
    );
    const plain = await flinch(['chat', '--temperature', '0', '--no-score', QUESTION]);
    expect(stripVTControlCharacters(stdout)).toContain(plain.stdout.trim());
  });

  it.runIf(HAS_TERMINAL)('breaks lines between words at the width of a terminal', async () => {
    const shown = async (columns: number): Promise<string> => {
      const { finished } = startOnTerminal(
        ['chat', '--temperature', '0', QUESTION],
        { NO_COLOR: '1' },
        columns,
      );
      return (await finished).stdout.replaceAll('\r', '');
    };
    const [wide, narrow] = [await shown(80), await shown(9)];
    expect(narrow.replace(/\s+/g, ' ')).toBe(wide.replace(/\s+/g, ' '));
    expect(Math.max(...narrow.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(9);
    expect(wide.split('\n').length).toBeLessThan(narrow.split('\n').length);
  });

  it('prints events as JSON lines', async () => {
    const { stdout } = await flinch(['chat', '--temperature', '0', '--json', '--max-tokens', '10', QUESTION]);
    const events = jsonLines(stdout);
    expect(events.filter(({ type }) => type === 'token.delta')).toHaveLength(10);
    const scores = events.filter(({ type }) => type === 'score.delta');
    expect(scores.filter(({ pending }) => pending)).toHaveLength(10);
    expect(scores.filter(({ pending }) => !pending)).toHaveLength(10);
    expect(events.at(-1)).toMatchObject({ type: 'generation.done', finish_reason: 'length' });
  });

  it('computes Adv. Pert. unless --methods leaves it out', async () => {
    const scored = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await flinch(['chat', '--temperature', '0', '--json', ...args, QUESTION]);
      const score = jsonLines(stdout).find(({ type, pending }) => type === 'score.delta' && !pending);
      return Object.keys(z.object({ scores: z.record(z.string(), z.number()) }).parse(score).scores);
    };
    expect(await scored()).toEqual(DEFAULT_METHODS);
    expect(await scored('--method', 'random')).toEqual([...DEFAULT_METHODS, 'random']);
    expect(await scored('--methods', 'entropy,margin')).toEqual(['entropy', 'margin']);
    const { code, stderr } = await flinch(['chat', '--methods', 'nll', '--color', 'margin', QUESTION]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('--color: margin is not among --methods'),
    });
  });

  it('ends quietly when its reader has seen enough', async () => {
    const { stdout, stderr } = await shell(`chat --json "${QUESTION}" | head -n 1`);
    expect([jsonLines(stdout).length, stderr]).toEqual([1, '']);
  });

  it('stops at Ctrl-C', async () => {
    // A text that waits for passes is still being written then.
    const running = start(['chat', '--temperature', '0', '--method', 'adversarial', LONG_QUESTION]);
    while (running.stdout().length < 20) await new Promise((resolve) => setTimeout(resolve, 5));
    running.child.kill('SIGINT');
    const { code, stdout, stderr } = await running.finished;
    expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
    expect(stdout).toMatch(/\n\nnothing flagged so far; judged by adversarial\n$/);
  });

  it('draws the same for the same seed', async () => {
    const sampled = ['chat', '--no-score', '--temperature', '1.5', '--seed', '7', QUESTION];
    const first = await flinch(sampled);
    expect(first.stdout.length).toBeGreaterThan(5);
    expect(await flinch(sampled)).toEqual(first);
  });

  it('refuses an empty question and bad options by name', async () => {
    expect(await flinch(['chat'], ' \n')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('question is empty'),
    });
    expect((await flinch(['chat', '--temperature', '9', 'x'])).stderr).toContain('--temperature');
    expect((await flinch(['chat', 'stone '.repeat(600)])).stderr).toContain(
      'exceed the context length of 512',
    );
  });
});
