import { describe, expect, it } from 'vitest';
import {
  CalibratedRisk,
  checkPromise,
  DEFAULT_GUARD,
  type Guard,
  neverFires,
  RunningRisk,
} from '#src/index.js';
import { MIN_STEPS } from '#src/risk/running-risk.js';
import { aCalibration } from '../support/calibration.js';

/** 1000 tokens in 100 steps. */
const calibration = aCalibration();
const risks = new CalibratedRisk(new Map([['nll', calibration]]));
const guard = (changes: Partial<Guard>): Guard => ({ ...DEFAULT_GUARD, method: 'nll', ...changes });

describe('neverFires', () => {
  it('names the least rate at which anything can be flagged', () => {
    expect(neverFires(guard({ rate: 0.0099 }), risks)).toContain('at a rate below 0.0099');
    expect(neverFires(guard({ rate: 0.00995 }), risks)).toBeNull();
  });

  it('asks no running estimate, which would learn from it', () => {
    const running = new RunningRisk();
    for (let i = 0; i < MIN_STEPS; i++) expect(neverFires(guard({ rate: 1e-9 }), running)).toBeNull();
    expect(running.ofStep('nll', 1)).toBeNull();
  });
});

describe('checkPromise', () => {
  it('says how many ordinary answers a rate of answers needs', () => {
    expect(() => checkPromise(guard({ per: 'answer', rate: 0.01 }), risks)).not.toThrow();
    expect(() => checkPromise(guard({ per: 'answer', rate: 0.005 }), risks)).toThrow(
      'rate: 0.005 of answers needs a calibration with 199 whole answers, and there are 100',
    );
    expect(() => checkPromise(guard({ rate: 0.005 }), risks)).not.toThrow();
  });

  it('refuses to go by a running estimate, and by a calibration without whole answers', () => {
    const { peaks: _, ...older } = calibration.methods.nll!;
    const methods = { nll: older };
    const without = new CalibratedRisk(new Map([['nll', { ...calibration, methods }]]));
    for (const of of [new RunningRisk(), new RunningRisk().ofOneAnswer(), without])
      expect(() => checkPromise(guard({ per: 'answer' }), of)).toThrow('per: answer needs a calibration');
  });
});
