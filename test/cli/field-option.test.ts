import { readFileSync } from 'node:fs';
import type { Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { fieldOption, fieldsOf } from '#cli/field-option.js';
import { parseMethods } from '#cli/options.js';
import { flinchProgram } from '#cli/program.js';
import { guardSchema as requestSchema } from '#gateway/requests/guard-limits.js';
import { type GuardFieldName, guardFields, guardSchema } from '#src/guard/guard-fields.js';
import { scoringFields, scoringOf, scoringSchema } from '#src/uncertainty/scoring-fields.js';
import { checkScoring } from '#src/uncertainty/settings.js';

const program = await flinchProgram('0.0.0', ['chat', 'score', 'calibrate']);
const optionsOf = (name: string): readonly Option[] =>
  program.commands.find((command) => command.name() === name)?.options ?? [];
const names = Object.keys(guardFields);

/** Fields that a command has no option for, and why. */
const NOT_APPLICABLE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  chat: { enabled: 'is --no-score', budget: 'is of escalate and vote, which a gateway does' },
  score: {},
  calibrate: {},
};

describe('every field of the guard', () => {
  it.each([
    ['chat', names],
    ['score', ['methods', 'scoring']],
    ['calibrate', ['methods', 'scoring']],
  ])('is an option of flinch %s, or is listed as not applicable', (command, fields) => {
    const flags = optionsOf(command).map(({ long }) => long?.slice(2).replaceAll('-', '_'));
    const missing = fields.filter((name) => !flags.includes(name));
    expect(missing).toEqual(Object.keys(NOT_APPLICABLE[command] ?? {}));
  });

  it.each(['http.md', 'events.md'])('is in docs/reference/%s', (page) => {
    const text = readFileSync(`docs/reference/${page}`, 'utf8');
    const settings = ['block', 'window', 'alpha'].map((name) => `scoring.${name}`);
    const listed = [...names.filter((name) => name !== 'scoring'), ...settings];
    expect(listed.filter((name) => !text.includes(`| \`guard.${name}\` |`))).toEqual([]);
  });

  it('is in the type of the client', () => {
    const client = readFileSync('client/src/guard-request.ts', 'utf8');
    const [, body = ''] = /interface GuardRequest \{\n([^}]*)\}/.exec(client) ?? [];
    expect([...body.matchAll(/^ {2}readonly (\w+)\?: /gm)].map(([, name]) => name)).toEqual(names);
  });

  it('has a description of one sentence', () => {
    for (const [name, { description = '' }] of Object.entries({ ...guardFields, ...scoringFields })) {
      expect({ name, description }).toEqual({ name, description: expect.stringMatching(/^[^.].*[^.]\.$/) });
      expect(description.replaceAll(/\d\.\d/g, '').split('. ')).toHaveLength(1);
    }
  });
});

describe('an option for a field', () => {
  const parse = (name: GuardFieldName, text: string): unknown =>
    fieldOption(name, '<value>').parseArg?.(text, undefined);

  it('has words, choices and default of the schema', () => {
    expect(fieldOption('per', '<target>')).toMatchObject({
      flags: '--per <target>',
      description: expect.stringMatching(/^what `?rate`? is a share of/),
      argChoices: ['step', 'answer'],
      defaultValue: 'step',
    });
    expect(fieldOption('method', '<name>').description).toMatch(/ \(default: the one that .+\)$/);
    expect(fieldOption('method', '<name>', 'mine').description).toMatch(/ judged by \(default: mine\)$/);
    expect(fieldOption('rate', '<number>')).toMatchObject({
      defaultValue: 0.02,
      description: expect.not.stringContaining('default'),
    });
  });

  it.each([
    ['candidates', '16', 16],
    ['rate', '0.5', 0.5],
    ['max_rollbacks', '0', 0],
  ] as const)('reads --%s %s as a request has it', (name, text, value) => {
    expect(parse(name, text)).toBe(value);
  });

  it.each([
    ['candidates', '17', 'Must be a whole number from 1 to 16.'],
    ['candidates', '1.5', 'Must be a whole number from 1 to 16.'],
    ['candidates', '', 'Must be a whole number from 1 to 16.'],
    ['rate', '0', 'Must be a number above 0 and below 1.'],
    ['rate', '1', 'Must be a number above 0 and below 1.'],
  ] as const)('refuses --%s "%s"', (name, text, message) => {
    expect(() => parse(name, text)).toThrow(message);
  });

  it('finds the fields among the options of a command', () => {
    const options = { maxRollbacks: 3, model: 'm', temperature: 1, scoring: { tokur_sigma: 0.5 } };
    expect(guardSchema.parse(fieldsOf(options))).toEqual({
      ...guardSchema.parse({}),
      max_rollbacks: 3,
      scoring: scoringSchema.parse({ tokur_sigma: 0.5 }),
    });
  });
});

describe('--scoring', () => {
  const parse = (text: string, before: object = {}): unknown =>
    optionsOf('score')
      .find(({ long }) => long === '--scoring')
      ?.parseArg?.(text, before);

  it.each([
    ['window=all', { window: 'all' }],
    ['window=65536,block=8', { window: 65536, block: 8 }],
    [' alpha = 1e-4 ', { alpha: 1e-4 }],
    ['alpha=0.005rms', { alpha: '0.005rms' }],
    ['schedule=offline', { schedule: 'offline' }],
    ['derivative', { derivative: true }],
    ['derivative=false', { derivative: false }],
  ])('reads %s as a request has it', (text, settings) => {
    expect(parse(text)).toEqual(settings);
  });

  it('takes a method once that is named twice, and none that it does not know', () => {
    expect(parseMethods('nll, adversarial,nll')).toEqual(['nll', 'adversarial']);
    expect(() => parseMethods('tokur')).toThrow('Unknown method "tokur". Supported: adversarial, random');
  });

  it('adds to the settings before', () => {
    expect(parse('block=4', { block: 8, window: 64 })).toEqual({ block: 4, window: 64 });
  });

  it.each([
    ['block=8,samples=257', 'samples: Must be a whole number from 2 to 256.'],
    ['tokur_samples=33', 'tokur_samples: Must be a whole number from 2 to 32.'],
    ['window=0', 'window: Must be a whole number from 1 to 65536, or "all".'],
    ['alpha=-1rms', 'alpha: Must be a number from 0.000001 to 1'],
    ['alpha=0', 'alpha: Must be'],
    ['sigma=0', 'sigma: Must be'],
    ['sigma=much', 'sigma: Must be'],
    ['tokur_sigma=0.005rms', 'tokur_sigma: Must be'],
    ['schedule=never', 'schedule: Must be one of offline, windowed.'],
    ['alpha', 'alpha: Must be a number'],
    ['alpha=1=2', 'alpha has two values.'],
    ['rate=0.1', 'rate is none of block, window,'],
    ['', 'a name is none of block, window,'],
  ])('refuses "%s"', (text, message) => {
    expect(() => parse(text)).toThrow(message);
  });
});

describe('the ranges', () => {
  const valid = scoringSchema.parse({});
  const check = (changes: object): void => checkScoring(scoringOf(['nll'], { ...valid, ...changes }));
  const accepts = (test: () => void): boolean => {
    try {
      test();
      return true;
    } catch {
      return false;
    }
  };

  it.each([
    ['block', [0, 1, 1.5, 32]],
    ['window', [0, 15, 16, 16.5, 65536, 'all']],
    ['alpha', [0, 1e-7, 1e-6, 1, 1.1, Number.NaN]],
    ['sigma', [0, 1e-7, 1e-6, 1, 1.1]],
    ['samples', [1, 2, 2.5, 256, 257]],
    ['tokur_sigma', [0, 1e-7, 1e-6, 1, 1.1]],
    ['tokur_samples', [1, 2, 2.5, 32, 33]],
  ] as const)('of %s are those of checkScoring', (name, values) => {
    const field = scoringFields[name];
    // A window below the block is none that the field alone could refuse.
    for (const value of values.filter((each) => name !== 'window' || each !== 15)) {
      const engine = accepts(() => check({ [name]: value }));
      expect({ name, value, engine }).toEqual({ name, value, engine: field.safeParse(value).success });
    }
    expect(values.some((value) => accepts(() => check({ [name]: value })))).toBe(true);
  });

  it('of a request are within them, with the same defaults', () => {
    expect(requestSchema.parse({})).toEqual(guardSchema.parse({}));
    const most = { scoring: { block: 64 } };
    expect(requestSchema.parse(most)).toEqual(guardSchema.parse(most));
    const beyond = [{ block: 65 }, { samples: 4 }].map((scoring) => ({ scoring }));
    for (const more of beyond) {
      expect(requestSchema.safeParse(more).success).toBe(false);
      expect(guardSchema.safeParse(more).success).toBe(true);
    }
  });
});
