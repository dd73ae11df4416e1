import { describe, expect, it } from 'vitest';
import { samplesNeeded } from '#bench/measures/measure.js';
import {
  MEASURE_METHODS,
  parseMeasure,
  parseMeasures,
  withSubstitutes,
} from '#bench/measures/parse-measure.js';
import { sharedPasses } from '#bench/measures/passes.js';
import { NO_ENCODERS } from '../../support/encoders.js';

describe('parseMeasure', () => {
  it.each(MEASURE_METHODS)('knows %s without settings', (name) => {
    expect(parseMeasure(name).name).toBe(name);
  });

  it.each([
    ['adversarial:window=64,block=8', 'adversarial:block=8,window=64'],
    ['adversarial:alpha=0.0001', 'adversarial'],
    ['adversarial:alpha=1e-3', 'adversarial:alpha=0.001'],
    ['adversarial:alpha=0.010rms', 'adversarial:alpha=0.01rms'],
    ['random:sigma=1e-2,samples=40', 'random:samples=40,sigma=0.01'],
    ['tokur_eu:samples=2', 'tokur_eu'],
    ['token_sar:steps=share', 'token_sar:steps=share'],
    [' graph: clusters = 0.5 ', 'graph:clusters=0.5'],
    ['self_consistency:samples=10', 'self_consistency'],
  ])('%s is %s', (text, name) => {
    expect(parseMeasure(text).name).toBe(name);
    expect(parseMeasure(name)).toEqual(parseMeasure(text));
  });

  it('takes the schedule from what is named of it', () => {
    const scheduleOf = (text: string) => {
      const measure = parseMeasure(text);
      return measure.kind === 'engine' && measure.needs.adversary?.schedule;
    };
    expect(scheduleOf('adversarial')).toEqual({ kind: 'offline' });
    expect(scheduleOf('adversarial:block=128')).toEqual({ kind: 'windowed', block: 128, window: 128 });
    expect(scheduleOf('adversarial:window=all')).toEqual({ kind: 'windowed', block: 16, window: 'all' });
  });

  it.each([
    ['', /unknown method "" \(available: adversarial, random, /],
    ['adverserial', /"adverserial": unknown method "adverserial" \(available: adversarial, /],
    ['adversarial:blok=8', /blok: is not a setting of this method \(available: block, window, alpha\)/],
    ['nll:x=1', /x: is not a setting of this method \(the method has no settings\)/],
    ['adversarial:', /is not a setting of this method/],
    ['adversarial:block', /block: needs a value/],
    ['adversarial:block=8,block=9', /block: is given twice/],
    ['adversarial:block=0', /block: must be a whole number from 1 to 65536/],
    ['adversarial:window=some', /window: must be a whole number, or all/],
    ['adversarial:block=9,window=8', /window: must be at least block, which is 9/],
    ['adversarial:alpha=2', /alpha: must be from 0.000001 to 1, not 2/],
    ['token_sar:steps=other', /steps: must be one of alone, share/],
    ['random:samples=1', /samples: must be a whole number from 2 to 256/],
    ['random:sigma=x', /sigma: must be a number, or a multiple of the RMS/],
    ['graph:clusters=0', /clusters: must be more than 0/],
  ])('refuses %j', (text, problem) => {
    expect(() => parseMeasure(text)).toThrow(problem);
  });
});

describe('parseMeasures', () => {
  const names = (text: string) => parseMeasures(text).map(({ name }) => name);

  it('tells the commas between settings from those between measures', () => {
    expect(names('adversarial:block=8,window=64,nll,random:samples=40,sigma=1e-2,margin')).toEqual([
      'adversarial:block=8,window=64',
      'nll',
      'random:samples=40,sigma=0.01',
      'margin',
    ]);
  });

  it('has each once', () => {
    expect(names('nll,adversarial,nll,adversarial:alpha=1e-4')).toEqual(['nll', 'adversarial']);
  });

  it('refuses a setting that no measure comes before', () => {
    expect(() => parseMeasures('block=8,nll')).toThrow(/unknown method "block=8"/);
  });
});

describe('withSubstitutes', () => {
  const measures = parseMeasures('ccp,token_sar:steps=share,graph,nll,ccp-rules');
  const names = (encoders: Parameters<typeof withSubstitutes>[1]) =>
    withSubstitutes(measures, encoders).map(({ name }) => name);

  it('names what takes the place of a method without its model', () => {
    const light = ['ccp-rules', 'token_sar-lexical:steps=share', 'graph-lexical', 'nll'];
    expect(names(NO_ENCODERS)).toEqual(light);
  });

  it('leaves a method alone whose model is there', () => {
    const compare = async () => [];
    expect(names({ ...NO_ENCODERS, compare })).toContain('token_sar:steps=share');
    expect(names({ ...NO_ENCODERS, compare })).not.toContain('ccp');
  });
});

it('knows how many samples the measures need', () => {
  expect(samplesNeeded(parseMeasures('nll,graph,self_consistency:samples=7'))).toBe(7);
  expect(samplesNeeded(parseMeasures('nll,graph-claims'))).toBe(4);
  expect(samplesNeeded(parseMeasures('nll'))).toBe(0);
});

describe('sharedPasses', () => {
  const passes = (text: string) =>
    sharedPasses(parseMeasures(text)).map(({ serves }) => serves.map(({ name }) => name).join(' '));

  it('serves all that goes by the whole response with one pass', () => {
    const [pass, ...more] = sharedPasses(
      parseMeasures('nll,ccp,entropy:top=20,random,tokur_eu,tokur_au,token_sar,adversarial,entropy,graph'),
    );
    expect(more).toEqual([]);
    expect(pass!.scoring).toMatchObject({ schedule: { kind: 'offline' }, top: 20 });
    expect([...pass!.scoring.methods].sort()).toEqual(
      ['adversarial', 'entropy', 'nll', 'random', 'tokur_au', 'tokur_eu'].sort(),
    );
  });

  it('gives each other variant a pass of its own', () => {
    expect(
      passes('adversarial:block=8,adversarial:alpha=1e-3,nll,adversarial,random,random:samples=40'),
    ).toEqual(['adversarial:alpha=0.001 nll random', 'adversarial random:samples=40', 'adversarial:block=8']);
  });

  it('takes a plain pass where nothing attacks', () => {
    const [pass] = sharedPasses(parseMeasures('ccp-rules'));
    expect(pass!.scoring).toMatchObject({ methods: ['nll'], top: 10 });
    expect(sharedPasses(parseMeasures('graph,self_consistency'))).toEqual([]);
  });
});
