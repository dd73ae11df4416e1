import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { flinch, jsonLines, useFolder } from '../support/cli.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { QUESTION } from '../support/requests.js';

const folder = useFolder();
let model: string;
beforeAll(async () => {
  model = await calibratedReasoner(folder.path('reasoner'), 0.0002);
});

/** The method of the model's calibration. */
const COLOR = ['--color', 'adversarial'];
const inColour = { FORCE_COLOR: '3', COLORTERM: 'truecolor' };
const chat = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  flinch(['chat', '--model', model, '--temperature', '0', ...COLOR, ...args, QUESTION], '', env);
const textOf = (events: readonly Record<string, unknown>[]) => events.map(({ text }) => text).join('');

describe('flinch chat with a guard', () => {
  it('ends at a doubtful step, and says so where there is room for it', async () => {
    const events = jsonLines((await chat(['--json', '--action', 'stop', '--rate', '0.99'])).stdout);
    expect(events.at(-2)).toMatchObject({ type: 'step.flagged', action: 'stop', calibrated: true });
    expect(events.at(-1)).toMatchObject({ type: 'generation.done', finish_reason: 'content_filter' });
    const written = textOf(events.filter(({ type }) => type === 'token.delta'));
    const plain = await chat(['--action', 'stop', '--rate', '0.99']);
    expect(plain).toMatchObject({ code: 0, stderr: '' });
    const [text, note] = plain.stdout.split('\n\n⚑ ');
    // How much more was written when the verdict came depends on the machine.
    const [shorter, longer] = [text!, written.trimEnd()].sort((a, b) => a.length - b.length);
    expect(longer!.startsWith(shorter!)).toBe(true);
    expect(shorter).toContain('First, 11 - 3 = 8.');
    expect(note).toMatch(/^step 1: higher than \d+.* % of ordinary steps, stopped: “/);
    const { stdout } = await chat(['--action', 'stop', '--rate', '0.99'], inColour);
    expect(stripVTControlCharacters(stdout)).toMatch(
      /⚑ step 1: higher than \d.* % of ordinary steps, stopped: “/,
    );
  });

  it('marks doubtful steps in colour and in plain text', async () => {
    const { stdout } = await chat(['--rate', '0.5'], inColour);
    const lines = stripVTControlCharacters(stdout);
    expect(lines).toMatch(/⚑ step \d+: higher than [\d.]+ % of ordinary steps: “/);
    const flags = lines.match(/⚑/g)?.length;
    expect(lines).toMatch(
      new RegExp(`”\\n${flags} steps? flagged; judged by adversarial(; answer flagged.*)?\\n$`),
    );
    const [answer, ...notes] = (await chat(['--rate', '0.5'])).stdout.split('\n\n⚑ ');
    expect((await chat(['--rate', '0.0001'])).stdout).toBe(
      `${answer}\n\nnothing flagged; judged by adversarial; answers cannot be judged yet: 100 of 9999 prompts\n`,
    );
    expect(lines.replaceAll(/[^\S\n]+$/gm, '')).toContain(`⚑ ${notes.join('').trimEnd()}`);
    const clear = await chat(['--rate', '0.0001'], inColour);
    expect(stripVTControlCharacters(clear.stdout)).not.toContain('⚑');
  });

  it('takes nothing back in a terminal, and tells all of it in JSON', async () => {
    const rollback = ['--action', 'rollback', '--rate', '0.99', '--candidates', '3', '--max-rollbacks', '2'];
    const drawn = [...rollback, '--temperature', '1.5', '--seed', '4'];
    const events = jsonLines((await chat([...drawn, '--json'])).stdout);
    expect(events.filter(({ type }) => type === 'rollback.done')).toHaveLength(2);
    const tokens: unknown[] = [];
    for (const event of events) {
      if (event.type === 'token.delta') tokens.push(event.text);
      if (event.type === 'token.retracted') tokens.length = Number(event.from);
    }
    expect(events.at(-1)).toMatchObject({ usage: { completion_tokens: tokens.length } });
    const { stdout } = await chat(drawn, inColour);
    const [text = '', notes = ''] = stripVTControlCharacters(stdout).split('\n\nadversarial:');
    expect(
      notes.match(
        /⚑ step \d+: higher than .* % of ordinary steps, (rolled back: “.*” → “|kept over 3 candidates)/g,
      ),
    ).toHaveLength(2);
    // Steps end with a line: one that had been replaced in view would stand there twice.
    const steps = text.split('\n').map((line) => line.trim());
    expect(new Set(steps).size).toBe(steps.length);
  });

  it('judges by the score that it colours by, unless told otherwise', async () => {
    const verdict = async (...args: string[]) =>
      jsonLines((await chat(['--json', '--max-tokens', '10', ...args])).stdout).find(
        ({ type }) => type === 'step.done',
      );
    expect(await verdict()).toMatchObject({ method: 'adversarial' });
    expect(await verdict('--method', 'margin')).toMatchObject({ method: 'margin' });
  });

  it('says that no calibration holds before it acts without one', async () => {
    const acting = await chat(['--action', 'stop', '--scoring', 'alpha=1e-3', '--max-tokens', '5']);
    expect(acting).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('alpha 0.0001, not 0.001'),
    });
    expect((await chat(['--scoring', 'alpha=1e-3', '--max-tokens', '5'])).stderr).toBe('');
  });

  it('says where no step can ever be flagged, for too few are ordinary', async () => {
    const { code, stderr } = await chat(['--rate', '0.005', '--max-tokens', '2']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^flinch: no step is ever flagged .* below 0\.0099: too few ordinary/),
    });
    expect((await chat(['--rate', '0.02', '--max-tokens', '2'])).stderr).toBe('');
  });

  it('refuses what cannot be, by name', async () => {
    const unscored = await chat(['--no-score', '--action', 'stop']);
    expect(unscored).toMatchObject({ code: 2, stderr: expect.stringMatching(/--action.*--no-score/) });
    expect((await chat(['--rate', '0'])).stderr).toContain('--rate');
    expect((await chat(['--candidates', '17'])).stderr).toContain('--candidates');
    expect((await chat(['--max-rollbacks', '65'])).stderr).toContain('--max-rollbacks');
  });

  it('names a calibration that it cannot read', async () => {
    const dir = await calibratedReasoner(folder.path('broken'), 1);
    folder.write('broken/calibration.json', '[]');
    const { code, stderr } = await flinch(['chat', '--model', dir, QUESTION]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('broken/calibration.json') });
  });
});
