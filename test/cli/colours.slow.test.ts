import { describe, expect, it } from 'vitest';
import { start } from '../support/cli.js';
import { HAS_TERMINAL, startOnTerminal } from '../support/pseudo-terminal.js';

const BOLD = '\x1b[1m';

describe.runIf(HAS_TERMINAL)('colours on a terminal', () => {
  it.each<[string, NodeJS.ProcessEnv, boolean]>([
    ['are there', {}, true],
    ['are not there with NO_COLOR', { NO_COLOR: '1' }, false],
    ['are there with an empty NO_COLOR', { NO_COLOR: '' }, true],
    ['are there if FORCE_COLOR asks for them, too', { NO_COLOR: '1', FORCE_COLOR: '1' }, true],
    ['are not there with FORCE_COLOR=0', { FORCE_COLOR: '0' }, false],
    ['are not there on a dumb terminal', { TERM: 'dumb' }, false],
  ])('%s', async (_, env, coloured) => {
    const { code, stdout } = await startOnTerminal(['data', 'list'], env).finished;
    expect(code).toBe(0);
    expect(stdout.includes(BOLD)).toBe(coloured);
  });

  it('leave room for the rows of flinch doctor, which are as wide as the terminal', async () => {
    const { stdout } = await startOnTerminal(['doctor', '--port', '0'], { NO_COLOR: '1' }, 80).finished;
    const lines = stdout.split('\r\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    // Further lines stand below what was found.
    expect(lines.some((line) => /^ {26}\S/.test(line))).toBe(true);
  });

  it.each([
    ['xterm', true],
    ['dumb', false],
  ])('come with a bar, on %s: %s', async (TERM, drawn) => {
    const env = { TERM, NO_COLOR: '1' };
    const { stdout } = await startOnTerminal(['score', '/dev/null'], env).finished;
    expect(stdout.includes('\x1b')).toBe(drawn);
    expect(stdout).toContain('0 of 0 answers, the most doubtful first; judged by nll');
    const json = await startOnTerminal(['score', '/dev/null', '--json'], env).finished;
    expect(json.stdout).not.toContain('answers');
  });
});

it('colours are not in a pipe, but if FORCE_COLOR asks for them', async () => {
  const plain = await start(['data', 'list'], '', { FORCE_COLOR: undefined }).finished;
  const forced = await start(['data', 'list'], '', { FORCE_COLOR: '1' }).finished;
  expect([plain, forced].map(({ stdout }) => stdout.includes(BOLD))).toEqual([false, true]);
});
