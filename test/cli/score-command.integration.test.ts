import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { formatAnswers } from '#cli/score/worst-first.js';
import { answerScore, openCheckpoint, stepScore, weigh } from '#src/index.js';
import { reasonerPath } from '#src/package-root.js';
import { flinch, jsonLines, shell, start, useFolder } from '../support/cli.js';
import {
  CHECKPOINTS,
  checkpointFolder,
  goldenCases,
  largestDifference,
  REASONER,
  scoreErrors,
} from '../support/golden.js';
import { obeyed } from '../support/hostile-text.js';

const folder = useFolder();

const output = z.object({
  id: z.union([z.string(), z.number()]),
  model: z.string(),
  schedule: z.enum(['offline', 'windowed']),
  positions: z.number(),
  tokens: z.array(
    z.object({
      index: z.number(),
      id: z.number(),
      text: z.string(),
      logprob: z.number(),
      scores: z.record(z.string(), z.number()),
      rival: z.object({ id: z.number(), text: z.string(), before: z.number(), after: z.number() }).optional(),
    }),
  ),
});

const lines = (text: string) => jsonLines(text).map((line) => output.parse(line));
const json = (values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

describe.each(CHECKPOINTS)('flinch score on %s', (name) => {
  const cases = goldenCases(name);
  const alpha = String(cases[0]!.alpha);
  const model = checkpointFolder(name);

  it('reproduces the float64 values offline, from ids, raw text and messages', async () => {
    const input = json([
      ...cases.map(({ promptIds, responseIds }, i) => ({ id: `ids ${i}`, promptIds, responseIds })),
      ...cases.map(({ messages, response }, i) => ({ id: `text ${i}`, messages, response })),
    ]);
    const { code, stdout, stderr } = await flinch(
      ['score', '--model', model, '-', '--scoring', `alpha=${alpha}`],
      input,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const results = lines(stdout);
    expect(results.map(({ id }) => id)).toEqual(['ids 0', 'ids 1', 'ids 2', 'text 0', 'text 1', 'text 2']);
    results.forEach((result, i) => {
      const golden = cases[i % 3]!;
      expect(result).toMatchObject({ model: name, schedule: 'offline' });
      expect(result.positions).toBe(golden.promptIds.length + golden.responseIds.length - 1);
      expect(result.tokens.map(({ text }) => text).join('')).toBe(golden.response);
      expect(
        largestDifference(
          result.tokens.map(({ logprob }) => logprob),
          golden.logprob,
        ),
      ).toBeLessThan(1e-4);
      const errors = scoreErrors(
        result.tokens.map(({ scores }) => scores.adversarial!),
        golden.adv,
      );
      expect(errors.all).toBeLessThan(0.005);
    });
  });

  it('reproduces the windowed ones, and writes a file', async () => {
    const input = folder.write(
      `${name}.jsonl`,
      json(cases.map(({ promptIds, responseIds }, id) => ({ id, promptIds, responseIds }))),
    );
    const args = [
      '--model',
      model,
      input,
      '--output',
      folder.path(`${name}.out`),
      '--scoring',
      `alpha=${alpha}`,
    ];
    const schedule = ['--scoring', 'schedule=windowed,block=4,window=16', '--methods', 'adversarial'];
    expect(await flinch(['score', ...args, ...schedule])).toEqual({ code: 0, stdout: '', stderr: '' });
    lines(folder.read(`${name}.out`)).forEach((result, i) => {
      const golden = cases[i]!.windowed['block=4,window=16']!;
      expect(result).toMatchObject({ id: i, schedule: 'windowed', positions: golden.positions });
      expect(result.tokens.every(({ scores }) => Object.keys(scores).join() === 'adversarial')).toBe(true);
      const errors = scoreErrors(
        result.tokens.map(({ scores }) => scores.adversarial!),
        golden.adversarial,
      );
      expect(errors.all).toBeLessThan(0.005);
    });
  });
});

describe('flinch score', () => {
  const good = { id: 'good', prompt: 'What is 2 + 3?', response: '5' };

  it('leaves out what was not asked for', async () => {
    const { stdout } = await flinch(['score', '-', '--methods', 'nll,margin'], json([good]));
    const [token] = lines(stdout)[0]!.tokens;
    expect(Object.keys(token!.scores)).toEqual(['nll', 'margin']);
    expect(token!.rival).toBeUndefined();
  });

  it('numbers a line without id by its place in the file', async () => {
    const { id: _, ...unnamed } = good;
    const { stdout } = await flinch(['score', '-', '--methods', 'nll'], `\n${json([good, unnamed])}`);
    expect(lines(stdout).map(({ id }) => id)).toEqual(['good', 3]);
  });

  it('prints the answers to read, with their most doubtful step', async () => {
    const messages = [{ role: 'user', content: 'What is (82 - 16) * 9?' }];
    const input = folder.write(
      'answers.jsonl',
      json([
        { id: 'right', messages, response: '82 - 16 = 66.\n66 * 9 = 594.' },
        { id: 'empty', messages, response: '' },
        { id: 'wrong', messages, response: '82 - 16 = 66.\n66 * 9 = 694.' },
      ]),
    );
    const top = await flinch(['score', input, '--top', '2']);
    expect(top).toMatchObject({ code: 0, stderr: '' });
    const [head, columns, first, second, ...rest] = top.stdout.split('\n');
    expect(head).toBe('2 of 3 answers, the most doubtful first; judged by nll');
    expect(columns).toMatch(/^answer +step +id +most doubtful step$/);
    expect(first).toMatch(/^\d[\d.e-]+ +\d[\d.e-]+ +wrong +66 \* 9 = 694\.$/);
    expect(second).toMatch(/ right +/);
    expect(rest).toEqual(['']);
    // The scores are made of those of the tokens, of which the lines have each.
    const output = folder.path('scored.jsonl');
    const both = await flinch(['score', input, '--top', '3', '--methods', 'nll', '--output', output]);
    expect(both.stdout).toMatch(/\nnone +none +empty\n$/);
    const [, , wrong] = lines(folder.read('scored.jsonl'));
    const scored = wrong!.tokens.map(({ text, scores }) => ({ text, score: scores.nll! }));
    const second0 = scored.findIndex(({ text }) => text.includes('\n')) + 1;
    const [ofAnswer, ofStep] = first!.split(/ +/).map(Number);
    expect(ofAnswer).toBeCloseTo(answerScore(weigh(scored)), 1);
    expect(ofStep).toBeCloseTo(stepScore(scored.slice(second0), 1), 1);
    const refused = await flinch(['score', input, '--top', '2', '--json']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/--top.*--json/) });
  });

  it('makes no line of a table wider than the terminal', () => {
    const step = { text: 'a\x1b[2J '.repeat(40), score: 2 };
    const answers = [
      { id: 'i'.repeat(99), score: 1, step },
      { id: 2, score: Number.NEGATIVE_INFINITY, step: null },
    ];
    const table = formatAnswers(answers, { method: 'nll', width: 60 });
    expect(obeyed(table)).toEqual([]);
    const [, , first, second] = table.split('\n');
    expect(first).toMatch(/^1\.00 +2\.00 +i{23}… +a\\u001b.*…$/);
    expect(first).toHaveLength(60);
    expect(second).toMatch(/^none +none +2$/);
  });

  it('takes alpha relative to the embeddings, and reports what it comes to', async () => {
    const alpha = 0.01 * (await (await openCheckpoint(reasonerPath)).embeddingRms());
    const relative = await flinch(['score', '-', '--scoring', 'alpha=0.01rms'], json([good]));
    expect(relative).toMatchObject({ code: 0, stdout: expect.stringContaining(`"alpha":${alpha},`) });
    expect(await flinch(['score', '-', '--scoring', `alpha=${alpha}`], json([good]))).toEqual(relative);
  });

  it('scores the end token only when its id is given', async () => {
    const ids = { id: 1, prompt: 'x', responseIds: [20, 2] };
    const { stdout } = await flinch(
      ['score', '--model', REASONER, '-'],
      json([ids, good, { ...good, id: 'empty', response: '' }]),
    );
    expect(lines(stdout).map(({ tokens }) => tokens.length)).toEqual([2, 1, 0]);
    expect(lines(stdout)[0]!.tokens[1]!.text).toBe('');
  });

  it.each([
    ['no JSON', '{', 'line: is not valid JSON'],
    [
      'an id with too many digits',
      '{"id": 12345678901234567, "prompt": "x", "response": "y"}',
      'id: has more digits than a number keeps',
    ],
    ['an id that is none', { ...good, id: true }, 'id: must be a string or a number'],
    ['an unknown field', { ...good, respons: 'x' }, 'respons: unknown field; did you mean response?'],
    ['no prompt', { id: 1, response: 'x' }, 'needs one of promptIds, prompt, messages'],
    ['two prompts', { ...good, promptIds: [1] }, 'promptIds, prompt: only one of'],
    ['two responses', { ...good, responseIds: [1] }, 'responseIds, response: only one of'],
    ['an empty prompt', { ...good, prompt: '' }, 'prompt: needs at least one token'],
    [
      'an id outside the vocabulary',
      { id: 1, prompt: 'a', responseIds: [1, 1024] },
      'responseIds[1]: 1024 is not in the vocabulary',
    ],
    ['a negative id', { id: 1, promptIds: [-1], response: 'a' }, 'promptIds[0]: '],
    [
      'an unknown field of a message',
      { id: 1, messages: [{ role: 'user', content: '', nam: 'x' }], response: 'a' },
      'messages[0].nam: unknown field',
    ],
    [
      'an unknown role',
      { id: 1, messages: [{ role: 'x', content: '' }], response: 'a' },
      'messages[0].role: ',
    ],
    [
      'a text beyond the context',
      { id: 1, prompt: 'a', response: 'stone '.repeat(600) },
      'exceed the context length of 512',
    ],
  ])('reports a line with %s by its number, and scores the others', async (_name, bad, message) => {
    const line = typeof bad === 'string' ? bad : JSON.stringify(bad);
    const { code, stdout, stderr } = await flinch(['score', '-'], `${line}\n\n${JSON.stringify(good)}\n`);
    expect(code).toBe(1);
    expect(stderr).toContain(`input:1: ${message.startsWith('exceed') ? '' : message}`);
    expect(stderr).toContain(message);
    expect(lines(stdout).map(({ id }) => id)).toEqual(['good']);
  });

  it.each<[string[], string, number]>([
    [['-', '--scoring', 'alpha=1e6rms'], 'alpha: must be from', 1],
    [['-', '--methods', 'nll,magic'], 'magic', 2],
    [['-', '--scoring', 'schedule=never'], 'schedule: Must be', 2],
    [['-', '--scoring', 'schedule=windowed,window=4'], 'window: must be at least block', 1],
    [['/nowhere/x.jsonl'], '/nowhere/x.jsonl', 1],
    [['-', '--model', '/nowhere'], '/nowhere', 1],
    [[], "missing required argument 'file'", 2],
  ])('refuses %j by name', async (args, message, expected) => {
    const { code, stdout, stderr } = await flinch(['score', ...args], json([good]));
    expect(code).toBe(expected);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('    at ');
  });

  it('reads what can be read only once', async () => {
    const input = folder.write('once.jsonl', json([good, good]));
    const { stdout } = await shell(`score --methods nll <(cat "${input}")`);
    expect(lines(stdout)).toHaveLength(2);
  });

  it('reads a byte order mark, and separators of lines within a string; a newline alone ends a line', async () => {
    const text = 'One\u2028two\u2029three';
    const input = `\ufeff${JSON.stringify({ ...good, id: 1 })}\r\n${JSON.stringify({ id: 2, prompt: 'Say it.', response: text })}`;
    const { code, stdout, stderr } = await flinch(['score', '--methods', 'nll', '-'], input);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [, second] = lines(stdout);
    expect(second!.tokens.map((token) => token.text).join('')).toBe(text);
  });

  it('reports a line that is not UTF-8, and scores the others', async () => {
    const bytes = Buffer.concat([Buffer.from(json([good])), Buffer.from([0x22, 0xff, 0x22, 0x0a])]);
    const input = folder.path('latin1.jsonl');
    writeFileSync(input, bytes);
    const { code, stdout, stderr } = await flinch(['score', '--methods', 'nll', input]);
    expect(code).toBe(1);
    expect(lines(stdout)).toHaveLength(1);
    expect(stderr).toContain('latin1.jsonl:2: is not UTF-8');
  });

  it('does not touch an output when the model or the input cannot be used, or when it is the input', async () => {
    const [input, output] = [
      folder.write('in.jsonl', json([good])),
      folder.write('out.jsonl', 'earlier results'),
    ];
    const base = ['score', '--output', output];
    expect((await flinch([...base, input, '--model', '/nowhere'])).code).toBe(1);
    expect((await flinch([...base, '/nowhere'])).code).toBe(1);
    expect(folder.read('out.jsonl')).toBe('earlier results');
    const same = await flinch(['score', input, '--output', input]);
    expect(same).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--output: is the same file as the input'),
    });
    expect(folder.read('in.jsonl')).toBe(json([good]));
  });

  it('ends quietly when its reader has seen enough, and says that a disk is full', async () => {
    const input = folder.write('more.jsonl', json(Array.from({ length: 50 }, (_, id) => ({ ...good, id }))));
    const { stdout, stderr } = await shell(`score "${input}" | head -n 1`);
    expect([lines(stdout).length, stderr]).toEqual([1, '']);
    await expect(shell(`score "${input}" --output /dev/full`)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^flinch: ENOSPC[^\n]*\n$/),
    });
  });

  it('stops at Ctrl-C while it waits for input', async () => {
    const running = start(['score', '-'], null);
    running.child.stdin?.write(json([good]));
    while (!running.stdout().endsWith('\n')) await setTimeout(5);
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(130);
  });

  it('stops at Ctrl-C with whole lines, and leaves no process behind', async () => {
    const input = folder.write(
      'many.jsonl',
      json(Array.from({ length: 5000 }, (_, id) => ({ ...good, id }))),
    );
    const running = start(['score', input]);
    while (running.stdout().length < 1000) await setTimeout(5);
    running.child.kill('SIGINT');
    const { code, stdout } = await running.finished;
    expect(code).toBe(130);
    expect(stdout.endsWith('}\n')).toBe(true);
    expect(lines(stdout).length).toBeLessThan(5000);
  });
});
