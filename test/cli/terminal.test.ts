import chalk from 'chalk';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { answerPainter, scoreScale } from '#cli/chat/chat-painter.js';
import { complain, note, remark, say } from '#cli/terminal.js';
import { heading } from '#cli/terminal-format.js';
import { ModelError, show, TemplateError } from '#src/files/file-errors.js';
import { visible, visibleLine } from '#src/files/visible.js';
import { DEFAULT_GUARD } from '#src/guard/guard.js';
import { RunningRisk } from '#src/risk/running-risk.js';
import { doneEvent, scoreEvent, tokenEvent } from '../support/events.js';
import { HOSTILE, obeyed } from '../support/hostile-text.js';
import { sources } from '../support/sources.js';

const { level } = chalk;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as chalk writes them
const COLOURS = /\x1b\[[\d;]*m/g;
afterEach(() => {
  chalk.level = level;
  vi.restoreAllMocks();
});

/** What is written to both streams meanwhile. */
function written(work: () => void): string {
  let all = '';
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      all += text;
      return true;
    });
  work();
  vi.restoreAllMocks();
  return all;
}

describe('visible', () => {
  it('shows what a terminal would obey, and leaves the rest', () => {
    expect(visible('\x1b[2J\x07\x7f\x9b\u202e\u2066\u2028')).toBe(
      '\\u001b[2J\\u0007\\u007f\\u009b\\u202e\\u2066\\u2028',
    );
    const plain = 'Zürich 東京 👩‍👩‍👧 עברית\u200f\tx\ny\r\nz';
    expect(visible(plain)).toBe(plain);
    expect(visible('50 %\rdone')).toBe('50 %\\u000ddone');
    expect(visibleLine('a\nb\tc\r\n')).toBe('a\\u000ab\\u0009c\\u000d\\u000a');
  });

  it('does not change what JSON says', () => {
    const all = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).join('');
    const json = visible(JSON.stringify({ all }));
    expect(JSON.parse(json)).toEqual({ all });
    expect(obeyed(json)).toEqual([]);
  });
});

describe('the terminal', () => {
  it.each([0, 3] as const)('obeys nothing that came from elsewhere, with colours of level %d', (colours) => {
    chalk.level = colours;
    const all = written(() => {
      for (const write of [say, note, remark, complain]) write(`${HOSTILE}\n`);
      say(`${heading(HOSTILE)}\n`);
    });
    for (const write of [remark, complain])
      expect(written(() => write(HOSTILE))).not.toMatch(/^flinch: all/m);
    expect(all).toContain('\\u001b]0;owned');
    expect(obeyed(all)).toEqual([]);
    expect(all.includes('\x1b[1m')).toBe(colours > 0);
  });

  it.each(['plain', 'coloured'])('shows the text of a model with its line breaks, %s', (kind) => {
    chalk.level = kind === 'plain' ? 0 : 3;
    let all = '';
    const write = (text: string): void => {
      all += text;
    };
    const watched = { guard: DEFAULT_GUARD, risks: new RunningRisk() };
    const painter = answerPainter(write, watched, kind === 'plain' ? null : scoreScale('nll'));
    for (const [i, text] of ['one\n\ttwo ', '\x1b', '[2J', HOSTILE].entries()) {
      painter.show(tokenEvent(i, { text }));
      painter.show(scoreEvent(i, { scores: { nll: 9 } }));
    }
    painter.show(doneEvent());
    painter.end();
    // Colours are of the painter: they end before any text of the model begins.
    const uncoloured = all.replace(COLOURS, '');
    expect(uncoloured).toContain('one\n\ttwo \\u001b[2J');
    expect(obeyed(uncoloured)).toEqual([]);
  });

  it('is written to in one place', () => {
    // A doc comment may show how something is printed.
    const writes = sources('src', 'cli', 'bench/src', 'lab/src').filter(({ text }) =>
      /^(?!\s*\*).*((process|streams)\.std(out|err)\.write|console\.)/m.test(text),
    );
    expect(writes.map(({ file }) => file)).toEqual(['cli/terminal.ts']);
  });
});

describe('messages about a model', () => {
  it('stay in one line, whatever the model says', () => {
    for (const { message } of [
      new ModelError(HOSTILE, HOSTILE, HOSTILE),
      new TemplateError('chat_template.jinja', HOSTILE),
    ]) {
      expect(message).not.toContain('\n');
      expect(obeyed(message)).toEqual([]);
    }
    expect(obeyed(show(HOSTILE))).toEqual([]);
  });
});
