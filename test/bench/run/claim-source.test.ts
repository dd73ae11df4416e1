import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseMeasures } from '#bench/measures/parse-measure.js';
import { readClaimSource } from '#bench/run/claim-source.js';
import { STAGES, type StageName } from '#bench/run/stage-names.js';
import { suites } from '#bench/suites/suites.js';
import { useFolder } from '../../support/cli.js';

const folder = useFolder();
const PROBLEMS = [{ id: 'Ada' }, { id: 'Emmy' }];
const JUDGE = { judge: 'http://127.0.0.1:1/v1' };
const file = (name: string, ...rows: unknown[]): string =>
  folder.write(name, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));

type Options = Partial<Parameters<typeof readClaimSource>[1]>;
const read = (options: Options, suite: 'factscore' | 'tasks' = 'factscore') =>
  readClaimSource(suites[suite], { stages: [...STAGES], ...options }, PROBLEMS);

const CLAIMS = file(
  'claims',
  { id: 'Ada', claims: [{ claim: 'x', supported: null }] },
  { id: 'Z', claims: [] },
);
const EVIDENCE = file('evidence', { id: 'Emmy', passages: ['p'] }, { id: 'Ada', passages: [] });

describe('readClaimSource', () => {
  it('is a file of claims, known by its digest', () => {
    const digest = createHash('sha256').update(folder.read('claims')).digest('hex');
    expect(read({ claims: CLAIMS })).toEqual({
      source: {
        by: 'file',
        listed: new Map([
          ['Ada', [{ claim: 'x', words: [], supported: null }]],
          ['Z', []],
        ]),
      },
      settings: { by: 'file', file: digest },
    });
  });

  it('is a judge, with passages or without', () => {
    expect(read(JUDGE)?.settings).toEqual({ by: 'judge', evidence: null });
    const { source, settings } = read({ ...JUDGE, evidence: EVIDENCE })!;
    expect(settings).toEqual({ by: 'judge', evidence: expect.stringMatching(/^[\da-f]{64}$/) });
    expect(source.by === 'judge' && source.evidence?.get('Emmy')).toEqual(['p']);
  });

  it.each([undefined, parseMeasures('nll,graph-claims')])(
    'is a file beside a judge that reads other responses: measures %j',
    (measures) => {
      const options = { claims: CLAIMS, ...JUDGE, ...(measures && { measures }) };
      expect(read(options)?.settings).toMatchObject({ by: 'file' });
    },
  );

  it('is nobody where nobody is asked', () => {
    const stages: StageName[] = ['generate'];
    expect(read({ stages })).toBeNull();
    expect(read({}, 'tasks')).toBeNull();
  });

  const odd = file('odd', { id: 'Ada', claims: [{ claim: 'x' }] });
  const twice = file('twice', { id: 'Ada', claims: [] }, { id: 'Ada', claims: [] });
  const others = file('others', { id: 'Z', claims: [] });
  const few = file('few', { id: 'Ada', passages: [] });
  it.each<[string, Options, RegExp]>([
    ['neither of the two', {}, /^--judge, --claims: a judge or a file must label/],
    [
      'both for nothing',
      { claims: CLAIMS, ...JUDGE, measures: parseMeasures('nll,graph') },
      /^--claims: .*cannot be used with --judge, except for the measure graph-claims/,
    ],
    ['passages for labels', { claims: CLAIMS, ...JUDGE, evidence: EVIDENCE }, /^--evidence: .*with --claims/],
    ['passages for nobody', { evidence: EVIDENCE }, /^--evidence: requires --judge/],
    ['passages for some', { evidence: few, ...JUDGE }, /^--evidence: .*few: has no line for "Emmy"/],
    ['no file', { claims: folder.path('no') }, /^--claims: .*no: there is no such file/],
    ['a line that does not fit', { claims: odd }, /^--claims: .*odd: line 1: claims\[0\]\.supported: /],
    ['a response twice', { claims: twice }, /^--claims: .*twice: "Ada" is given twice/],
    ['no response of the run', { claims: others }, /^--claims: .*others: contains none of the problems/],
  ])('refuses %s', (_, options, message) => {
    expect(() => read(options)).toThrow(message);
  });

  it('refuses claims where answers are judged', () => {
    expect(() => read({ claims: CLAIMS }, 'tasks')).toThrow('--claims: tasks is judged by final answers');
    expect(() => read({ evidence: EVIDENCE }, 'tasks')).toThrow(
      '--evidence: tasks is judged by final answers',
    );
  });
});
