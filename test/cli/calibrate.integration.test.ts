import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readPrompts } from '#cli/calibrate/calibrate-prompts.js';
import type { Checkpoint } from '#src/checkpoint/checkpoint.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import { DEFAULT_SCORING, encodePrompt, openCheckpoint, readCalibration } from '#src/index.js';
import { withCalibration } from '#src/risk/calibration.js';
import { writeCalibration } from '#src/risk/calibration-file.js';
import { STEP_RULE_VERSION } from '#src/steps/step-rule.js';
import { encodeText } from '#src/tokenizer/prompt.js';
import { aCalibration } from '../support/calibration.js';
import { flinch, jsonLines, start, useFolder } from '../support/cli.js';
import { REASONER } from '../support/golden.js';
import { HAS_TERMINAL, startOnTerminal } from '../support/pseudo-terminal.js';
import { QUESTION } from '../support/requests.js';

const folder = useFolder();
const file = folder.path('calibration.json');
const calibrate = (...args: string[]) =>
  flinch(['calibrate', '--model', REASONER, '--output', file, ...args]);

const PROBLEMS = `${REASONER}/problems.jsonl`;
const problems = readFileSync(PROBLEMS, 'utf8').split('\n');
/** The first problems of the embedded model, or as many from another one on. */
const firstProblems = (count: number, from = 0): string =>
  folder.write(`problems-${from}-${count}.jsonl`, problems.slice(from, from + count).join('\n'));

describe('flinch calibrate', () => {
  it('collects scores of the answers to prompts, and checks them on fresh ones', async () => {
    const { code, stdout, stderr } = await calibrate(
      '--input',
      firstProblems(16),
      '--seed',
      '3',
      '--method',
      'entropy',
      '--json',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [summary] = jsonLines(stdout);
    const written = await readCalibration(file);
    expect(summary).toMatchObject({
      output: file,
      model: written?.model,
      method: 'entropy',
      collected: { answers: 'all', seed: 3 },
    });
    expect(written?.method).toBe('entropy');
    expect(written?.calibrations).toHaveLength(1);
    expect(written?.calibrations[0]?.settings).toEqual({
      schedule: { kind: 'windowed', block: 16, window: 32 },
      alpha: 1e-4,
      form: 'derivative',
    });

    const fresh = ['--input', firstProblems(20, 16), '--check', '8'];
    const check = await calibrate(...fresh, '--methods', 'adversarial,nll,random', '--json');
    expect(JSON.parse(check.stdout).responses).toBe(8);
    expect(check.stderr).toContain('calibration.json does not contain random');
    const { falseAlarms } = JSON.parse(check.stdout);
    expect(falseAlarms.map(({ method, of }: Record<string, unknown>) => `${method} ${of}`)).toEqual([
      'adversarial token',
      'adversarial step',
      'adversarial any step of an answer',
      'adversarial answer',
      'nll token',
      'nll step',
      'nll any step of an answer',
      'nll answer',
    ]);
    for (const { rates } of falseAlarms) {
      const [{ target, low, high }] = rates;
      expect(target).toBe(0.01);
      expect(low).toBeLessThan(0.05);
      expect(high).toBeGreaterThan(0.005);
    }
  });

  it('takes the place of a calibration that was made by another rule for steps', async () => {
    const model = await fingerprint(await openCheckpoint(REASONER));
    const before = withCalibration(null, model, aCalibration(DEFAULT_SCORING, ['adversarial']));
    const other = { ...before.calibrations[0], stepRule: STEP_RULE_VERSION + 1 };
    const output = folder.write('other-rule.json', JSON.stringify({ ...before, calibrations: [other] }));
    const run = (...args: string[]) =>
      flinch([
        ...['calibrate', '--model', REASONER, '--output', output, '--methods', 'nll'],
        ...['--input', firstProblems(16), ...args],
      ]);
    const refused = await run('--check', '2');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('other-rule.json: calibrations[0].stepRule: must be');
    const made = await run();
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toContain(
      'judged by entropy, the default: not calibrated, as it is not among --methods\n',
    );
    const after = (await readCalibration(output))?.calibrations;
    expect(after?.map(({ methods, stepRule }) => [Object.keys(methods), stepRule])).toEqual([
      [['nll'], STEP_RULE_VERSION],
    ]);
  });

  it('takes prompts of a file, keeps what was calibrated with other settings, and prints a table', async () => {
    const before = withCalibration(null, await fingerprint(await openCheckpoint(REASONER)), aCalibration());
    await writeCalibration(file, before);
    const questions = Array.from({ length: 13 }, () => JSON.stringify({ question: QUESTION, answer: '89' }));
    const input = folder.write('questions.jsonl', [...questions, '{"prompt": "What is 7 + 5?"}'].join('\n'));
    const wider = ['--scoring', 'window=64', '--methods', 'adversarial,nll', '--temperature', '1'];
    const { stdout, stderr } = await calibrate('--input', input, ...wider);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^14 answers, \d+ ordinary tokens/);
    expect(stdout).toContain('none: too few scores for the rate');
    expect(stdout).toMatch(new RegExp(`\n\nServe it:  flinch serve --calibration ${file}\n$`));
    expect(stdout).toMatch(/adversarial {2}token +\d+ +0 %/); // none was skipped
    const after = await readCalibration(file);
    expect(after?.calibrations[0]).toEqual(before.calibrations[0]);
    expect(after?.calibrations[1]?.collected).toMatchObject({
      answers: 'all',
      responses: 14,
      temperature: 1,
    });
    expect(after?.calibrations[1]?.settings.schedule).toEqual({ kind: 'windowed', block: 16, window: 64 });
  });

  it('takes prompts that come with flinch for another model', async () => {
    const model = folder.path('another');
    cpSync(REASONER, model, { recursive: true });
    const { code, stderr } = await flinch([
      'calibrate',
      '--model',
      model,
      '--check',
      '2',
      '--max-tokens',
      '4',
    ]);
    expect(code).toBe(0);
    expect(stderr).toContain('411 prompts that come with flinch');
  });

  it('asks a model with a chat template in its form, and gives one without it the text alone', async () => {
    const base = folder.path('base');
    cpSync(REASONER, base, { recursive: true });
    const config = `${base}/tokenizer_config.json`;
    const { chat_template: _, ...rest } = JSON.parse(readFileSync(config, 'utf8'));
    writeFileSync(config, JSON.stringify(rest));
    const questions = folder.path('question.jsonl');
    writeFileSync(questions, JSON.stringify({ question: QUESTION }));
    const promptOf = async (checkpoint: Checkpoint) =>
      (await readPrompts(questions, checkpoint))[0]!.promptIds;
    const chat = await openCheckpoint(REASONER);
    expect(await promptOf(chat)).toEqual(encodePrompt(chat, [{ role: 'user', content: QUESTION }]));
    const plain = await openCheckpoint(base);
    expect(await promptOf(plain)).toEqual(encodeText(plain.tokenizer, QUESTION));
    const lines = jsonLines(readFileSync('models/calibration-prompts.jsonl', 'utf8'));
    expect(new Set(lines.flatMap(Object.keys))).toEqual(new Set(['question', 'answers']));
    expect(new Set(lines.map(({ question }) => question)).size).toBe(411);
    expect(lines.filter(({ answers }) => answers)).toHaveLength(352);
  });

  it('counts only right answers as ordinary where they are known', async () => {
    const prompts = folder.path('known.jsonl');
    const known = (question: string, answers?: unknown) => JSON.stringify({ question, answers });
    writeFileSync(
      prompts,
      [known(QUESTION, ['546', '1']), known(QUESTION), known(QUESTION, ['7'])].join('\n'),
    );
    const [right, unknown] = await readPrompts(prompts, await openCheckpoint(REASONER));
    const answers = ['78 * 7 = 546.\nAnswer: 546.', 'Answer: 1', 'Answer: 566.', 'Who knows?'];
    expect(answers.map((text) => right!.isOrdinary(text))).toEqual([true, true, false, false]);
    expect(answers.map((text) => unknown!.isOrdinary(text))).toEqual([true, true, true, true]);
    writeFileSync(prompts, known(QUESTION, []));
    await expect(readPrompts(prompts, await openCheckpoint(REASONER))).rejects.toThrow(/line 1.*answers/s);
  });

  it('makes a calibration of the right answers alone', async () => {
    const [input, output] = [folder.path('keyed.jsonl'), folder.path('keyed.json')];
    const problems = jsonLines(readFileSync(PROBLEMS, 'utf8')).slice(0, 40);
    const wrong = problems.map((problem, i) => ({
      ...problem,
      ...(i % 2 === 0 && { answers: ['no such'] }),
    }));
    writeFileSync(input, wrong.map((line) => JSON.stringify(line)).join('\n'));
    const { code, stderr } = await flinch([
      'calibrate',
      '--model',
      REASONER,
      '--input',
      input,
      '--output',
      output,
    ]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const [calibration] = (await readCalibration(output))!.calibrations;
    expect(calibration!.collected).toMatchObject({ answers: 'right', responses: 40 });
    const { answers, all } = calibration!.methods.nll!;
    expect([answers?.sum?.count, all?.sum?.count]).toEqual([20, 40]);
  });

  it('continues after Ctrl-C, also with more prompts, and not with other settings', async () => {
    const output = folder.path('continued.json');
    const common = ['calibrate', '--model', REASONER, '--output', output, '--seed', '3', '--input'];
    const logs = (): string[] => readdirSync(folder.path('.')).filter((name) => name.endsWith('.answers'));
    const kept = (): string[] => logs().flatMap((name) => folder.read(name).split('\n'));
    const running = start([...common, PROBLEMS]);
    await expect.poll(() => kept().length).toBeGreaterThan(18);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.finished;
    const [log] = logs();
    const responses = kept().length - 1;
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringContaining(
        `flinch: stopped: ${output} is of ${responses} of 1000 answers; the same command continues\n`,
      ),
    });
    expect((await readCalibration(output))?.calibrations[0]?.collected).toMatchObject({ responses });
    // As if it had been killed while it wrote, after a score that no answer has.
    const [first, ...rest] = kept().slice(0, -1);
    const marked = first!.replace(/("adversarial":)[^,]+/, '$1123');
    folder.write(log!, [marked, ...rest, '{"key": "cut'].join('\n'));

    const largest = async (): Promise<number> => {
      const [calibration] = (await readCalibration(output))?.calibrations ?? [];
      return Math.max(...Object.values(calibration?.methods ?? {}).flatMap(({ tokens }) => tokens.quantiles));
    };
    const other = await flinch([...common, firstProblems(18), '--methods', 'adversarial']);
    expect(other.code).toBe(0);
    expect(await largest()).toBeLessThan(10);
    expect(logs()).toEqual([log]);

    rmSync(output);
    const continued = await flinch([...common, firstProblems(18), '--json']);
    expect({ code: continued.code, stderr: continued.stderr }).toEqual({ code: 0, stderr: '' });
    // The method is that of the model's own calibration.
    expect(JSON.parse(continued.stdout)).toMatchObject({ method: 'nll', collected: { responses: 18 } });
    expect((await readCalibration(output))?.method).toBe('nll');
    expect(await largest()).toBe(123);
    expect(logs()).toEqual([]);
  });

  it('keeps a calibration of more answers at Ctrl-C', async () => {
    const model = await fingerprint(await openCheckpoint(REASONER));
    const some = aCalibration();
    const large = { ...some, collected: { ...some.collected, responses: 1e6 } };
    const output = folder.path('large.json');
    await writeCalibration(output, withCalibration(null, model, large));
    const before = folder.read('large.json');
    const running = start(['calibrate', '--model', REASONER, '--input', PROBLEMS, '--output', output]);
    const logs = (): string[] =>
      readdirSync(folder.path('.')).filter((name) => name.startsWith('large.json.'));
    const kept = (): number =>
      logs().reduce((lines, name) => lines + folder.read(name).split('\n').length, 0);
    await expect.poll(kept).toBeGreaterThan(18);
    running.child.kill('SIGINT');
    const [log] = logs();
    expect(await running.finished).toMatchObject({
      code: 130,
      stdout: '',
      stderr: expect.stringContaining(
        ` of 1000 answers are kept in ${folder.path(log!)}; the same command continues\n`,
      ),
    });
    expect(folder.read('large.json')).toBe(before);
    expect(logs()).toEqual([log]);
  });

  it.runIf(HAS_TERMINAL)('names no file at Ctrl-C before the first answer: there is none', async () => {
    const output = folder.path('none.json');
    // Twenty draws take their time: no answer ends before the key is read.
    const slow = ['--methods', 'random'];
    const running = startOnTerminal(['calibrate', '--input', PROBLEMS, '--output', output, ...slow]);
    await expect.poll(running.stdout).toContain(' 0/1000,');
    running.child.stdin?.write('\x03');
    const { code, stdout } = await running.finished;
    expect(stdout).toContain('flinch: stopped before the first answer: nothing is kept');
    expect([code, stdout.includes('none.json'), existsSync(output)]).toEqual([130, false, false]);
  });

  it('refuses what it cannot use before it begins', async () => {
    const bad = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await flinch(['calibrate', ...args]);
      expect(code).toBe(1);
      return stderr;
    };
    expect(await bad()).toContain('--input: is required for the embedded model');
    const [input, one] = [firstProblems(3), firstProblems(1)];
    const both = folder.write('both.jsonl', '{"prompt": "a"}\n{"prompt": "a", "question": "b"}\n');
    expect(await bad('--input', both)).toContain('line 2: needs exactly one of prompt, messages, question');
    const long = folder.write('long.jsonl', JSON.stringify({ question: 'stone '.repeat(600) }));
    expect(await bad('--input', long)).toContain('fills the context length of 512');
    const broken = folder.write('broken.json', '{}');
    expect(await bad('--input', input, '--output', broken)).toContain('broken.json: format');
    expect(folder.read('broken.json')).toBe('{}');
    expect(await bad('--input', input, '--output', folder.path('missing/c.json'))).toMatch(
      /--output: .*missing: no such file or folder/,
    );
    const few = folder.path('few.json');
    expect(await bad('--input', one, '--max-tokens', '5', '--output', few)).toContain('too few');
    expect(existsSync(few)).toBe(false);
    expect(await bad('--input', input, '--check', '3', '--output', few)).toContain(
      'nothing to check: there is no',
    );
  });
});

describe('flinch calibrate --labels', () => {
  const line = (fields: object) => `${JSON.stringify(fields)}\n`;
  const answers = folder.write(
    'answers.jsonl',
    ['a', 'b', 'c']
      .map((id, i) =>
        line({ type: 'verdict', data: { response_id: id, verdict: { flagged: i < 2, risk: 0.97 } } }),
      )
      .join(''),
  );
  const labels = folder.write(
    'labels.jsonl',
    line({ id: 'a', label: 'wrong' }) + line({ id: 'b', label: 1 }) + line({ id: 'x', label: 'right' }),
  );
  const meh = folder.write('meh.jsonl', line({ id: 'a', label: 'meh' }));

  it('compares recorded verdicts with labels, and names labels of answers that are not recorded', async () => {
    const { code, stdout, stderr } = await flinch(['calibrate', '--labels', labels, '--answers', answers]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'flinch: labels of answers that are not recorded: x\n',
    });
    expect(stdout).toContain(
      '1 wrong and 1 right answers; of these, 0 and 0 without a verdict are left out.',
    );
    expect(stdout).toMatch(/as it was +1\/1 \[20\.7, 100\.0\] % +1\/1 \[20\.7, 100\.0\] % +1\/2 /);
    const json = await flinch(['calibrate', '--labels', labels, '--answers', answers, '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ right: 1, wrong: 1, unknown: ['x'], duplicates: 0 });
  });

  it.each([
    [
      ['--labels', labels, '--answers', answers, '--output', 'x.json'],
      "cannot be used with option '--output",
    ],
    [['--labels', 'none.json', '--answers', answers], '--labels: none.json: no such file or folder'],
    [['--labels', labels], '--labels, --answers: one requires the other'],
    [['--labels', labels, '--answers', 'none.json'], '--answers: none.json: no such file or folder'],
    [['--labels', labels, '--answers', labels], `--answers: ${labels}: line 1: `],
    [['--labels', meh, '--answers', answers], `--labels: ${meh}: line 1: label: must be one of right, `],
    [['--labels', labels, '--answers', answers, '--check', '3'], "cannot be used with option '--check"],
  ])('refuses %o by the option and the file', async (args, problem) => {
    const { code, stderr } = await flinch(['calibrate', ...args]);
    expect(code).toBe(problem.startsWith('cannot be used with') ? 2 : 1);
    expect(stderr).toContain(problem);
  });
});
