import { from, lastValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  type FlagOptions,
  flagSteps,
  type GuardEvent,
  type RiskModel,
  type ScoreEvent,
  type StepClosedEvent,
  type StepEvent,
} from '#src/index.js';
import { closedEvent, doneEvent, scoreEvent, tokenEvent } from '../support/events.js';
import { expectMarbles } from '../support/marbles.js';

/** Says what it was asked; the risk of a step is a tenth of its score. */
class ManualRisks implements RiskModel {
  readonly asked: unknown[][] = [];

  calibrated(): boolean {
    return true;
  }

  ofToken(): never {
    throw new Error('token risks come with the scores');
  }

  ofAnswer(): never {
    throw new Error('nobody asks for the answer');
  }

  ofStep(...question: Parameters<RiskModel['ofStep']>): number | null {
    this.asked.push(question);
    return question[1] < 0 ? null : question[1] / 10;
  }
}

const nll = (index: number, score: number, risk?: number): ScoreEvent =>
  scoreEvent(index, { scores: { nll: score }, ...(risk !== undefined && { risk: { nll: risk } }) });
const unscored = (index: number): ScoreEvent => scoreEvent(index, { missing: ['nll'] });
const late = (index: number): ScoreEvent => scoreEvent(index, { skipped: ['nll'], reason: 'lag' });

const optionsWith = (options: Partial<FlagOptions> = {}): FlagOptions => ({
  method: 'nll',
  per: 'step',
  rate: 0.2,
  risks: new ManualRisks(),
  ...options,
});

const done = (
  step: StepClosedEvent,
  score: number | null,
  risk: number | null,
  flagged = false,
): StepEvent => ({
  ...step,
  type: 'step.done',
  method: 'nll',
  score,
  risk,
  calibrated: true,
  flagged,
});

async function verdicts(
  events: readonly (GuardEvent | StepClosedEvent)[],
  options: Partial<FlagOptions> = {},
) {
  const all = await lastValueFrom(from(events).pipe(flagSteps(optionsWith(options)), toArray()));
  return all
    .filter((event) => event.type === 'step.done')
    .map(({ score, risk, flagged, unscored }) => ({ score, risk, flagged, ...(unscored && { unscored }) }));
}

describe('flagSteps', () => {
  const inputs = {
    t: tokenEvent(0),
    u: tokenEvent(1),
    v: tokenEvent(2),
    a: nll(0, 3),
    b: nll(1, 6),
    c: nll(2, 4),
    f: scoreEvent(1, { pass: 'final', scores: { nll: 3 } }),
    x: scoreEvent(1, { scores: { entropy: 1 } }),
    y: closedEvent(1, 0, 2),
    z: closedEvent(2, 2, 3),
    d: doneEvent(),
  };
  const outputs = {
    ...inputs,
    Y: done(inputs.y, 9, 0.9, true),
    Z: done(inputs.z, 4, 0.4),
  };
  const missing = new Error('flagSteps: the text ends while scores of step 1 are missing');

  it.each([
    {
      rule: 'judges a step as it closes if its scores are there',
      source: '-tuaby-d|',
      expected: '-tuabY-d|',
    },
    { rule: 'waits for the scores', source: '-tuyva---b---d|', expected: '-tu-va---(bY)d|' },
    { rule: 'keeps the order of steps', source: '-tuvyzacb----d|', expected: '-tuv--ac(bYZ)d|' },
    { rule: 'judges without generation.done', source: '-tuaby|', expected: '-tuabY|' },
    { rule: 'ignores scores of the finished text', source: '-tuyafb---d|', expected: '-tu-af(bY)d|' },
    {
      rule: 'errors if scores are missing at the end',
      source: '-tuyad|',
      expected: '-tu-a#',
      error: missing,
    },
    { rule: 'errors if they are on completion', source: '-tuya|', expected: '-tu-a#', error: missing },
    {
      rule: 'errors if its method is not measured',
      source: '-tuyax',
      expected: '-tu-a#',
      error: new RangeError('flagSteps: no nll among the scores of token 1'),
    },
  ])('$rule', ({ source, expected, error }) => {
    expectMarbles<GuardEvent | StepClosedEvent, GuardEvent | StepClosedEvent>(
      (events) => events.pipe(flagSteps(optionsWith())),
      {
        source,
        expected,
        inputs,
        outputs,
        ...(error && { error }),
      },
    );
  });

  const tokens = [tokenEvent(0), tokenEvent(1), tokenEvent(2)];

  it('takes the sum of the scores, that of a number twice, and asks for its risk once', async () => {
    const number = tokenEvent(3, { text: ' 7' });
    const scores = [nll(0, 1), nll(1, 0), nll(2, 1), nll(3, 2)];
    const events = [...tokens, number, ...scores, closedEvent(1, 0, 4), doneEvent()];
    const risks = new ManualRisks();
    expect(await verdicts(events, { risks })).toEqual([{ score: 6, risk: 0.6, flagged: false }]);
    expect(risks.asked).toEqual([['nll', 6, 'step', 'numbers']]);
  });

  it('asks for the rank among the highest steps of answers, per answer', async () => {
    const risks = new ManualRisks();
    const events = [...tokens, nll(0, 1), nll(1, 2), nll(2, 5), closedEvent(1, 0, 3), doneEvent()];
    expect(await verdicts(events, { per: 'answer', risks })).toEqual([
      { score: 8, risk: 0.8, flagged: true },
    ]);
    expect(risks.asked).toEqual([['nll', 8, 'answer', 'words']]);
  });

  it('flags a step from 1 − rate on', async () => {
    const events = [...tokens, nll(0, 8), nll(1, 7), closedEvent(1, 0, 1), closedEvent(2, 1, 2)];
    expect(await verdicts(events)).toEqual([
      { score: 8, risk: 0.8, flagged: true },
      { score: 7, risk: 0.7, flagged: false },
    ]);
  });

  it.each(['step', 'answer'] as const)('has no risk while that is not known, per %s', async (per) => {
    const events = [tokenEvent(0), nll(0, -1), closedEvent(1, 0, 1)];
    expect(await verdicts(events, { per, rate: 1 })).toEqual([{ score: -1, risk: null, flagged: false }]);
  });

  it.each(['step', 'answer'] as const)(
    'has neither score nor risk where one of a token is missing, per %s',
    async (per) => {
      const risks = new ManualRisks();
      const events = [tokenEvent(0), tokenEvent(1), nll(0, 9, 0.95), unscored(1), closedEvent(1, 0, 2)];
      expect(await verdicts(events, { per, risks })).toEqual([
        { score: null, risk: null, flagged: false, unscored: 1 },
      ]);
      // Nor would a running estimate be right to learn of it.
      expect(risks.asked).toEqual([]);
    },
  );

  it('judges by the sum of what is left where tokens were passed over', async () => {
    const risks = new ManualRisks();
    const events = [...tokens, late(0), nll(1, 5), nll(2, 4), closedEvent(1, 0, 3)];
    expect(await verdicts(events, { risks })).toEqual([{ score: 9, risk: 0.9, flagged: true, unscored: 1 }]);
    expect(risks.asked).toEqual([['nll', 9, 'step', 'words']]);
  });

  it.each(['answer', 'step'] as const)(
    'is not found clean where all that counts was passed over, per %s',
    async (per) => {
      const risks = new ManualRisks();
      const events = [...tokens, late(0), late(1), late(2), closedEvent(1, 0, 3)];
      expect(await verdicts(events, { per, risks })).toEqual([
        { score: null, risk: null, flagged: false, unscored: 3 },
      ]);
      expect(risks.asked).toEqual([]);
    },
  );
});
