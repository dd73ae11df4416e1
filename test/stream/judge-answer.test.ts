import { from, lastValueFrom } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  type FlaggedEvent,
  type GuardEvent,
  type JudgeOptions,
  judgeAnswer,
  type RiskModel,
  type StepEvent,
  type Verdict,
} from '#src/index.js';
import { adviceOf } from '#src/stream/wire.js';
import { closedEvent, doneEvent, scoreEvent, tokenEvent } from '../support/events.js';

/** Of a hundred ordinary answers: the risk is a hundredth of the score. Remembers what it was asked. */
class HundredAnswers implements RiskModel {
  readonly asked: number[] = [];
  readonly kinds = new Set<string | undefined>();
  readonly #calibrated: boolean;

  constructor(calibrated = true) {
    this.#calibrated = calibrated;
  }

  calibrated(_method: string, of?: 'step' | 'answer'): boolean {
    return this.#calibrated && of === 'answer';
  }

  ofToken = () => null;
  ofStep = () => null;

  ofAnswer(method: string, score: number, among: 'ordinary' | 'all', kind?: string): number | null {
    expect(method).toBe('nll');
    this.kinds.add(kind);
    if (among === 'all') return this.#calibrated ? score / 202 : null;
    this.asked.push(score);
    return Math.max(0, Math.min(100 / 101, score / 101));
  }
}

/** A token and its score. */
const token = (index: number, nll = index, text = ''): GuardEvent[] => [
  tokenEvent(index, { text }),
  scoreEvent(index, { scores: { nll } }),
];
const missing = (index: number): GuardEvent[] => [tokenEvent(index), scoreEvent(index, { missing: ['nll'] })];

/** Of one token. */
const step = (number: number, flagged = false): StepEvent => ({
  ...closedEvent(number, number, number + 1),
  type: 'step.done',
  method: 'nll',
  score: 1,
  risk: null,
  calibrated: true,
  flagged,
});

const stopped = (number: number): FlaggedEvent => {
  const { flagged: _, ...rest } = step(number);
  return { ...rest, type: 'step.flagged', action: 'stop' };
};

async function verdictOn(
  events: readonly GuardEvent[],
  options: Partial<JudgeOptions> = {},
): Promise<Verdict> {
  const settings = { method: 'nll', rate: 0.05, risks: new HundredAnswers() } as const;
  const last = await lastValueFrom(
    from([...events, doneEvent()]).pipe(judgeAnswer({ ...settings, ...options })),
  );
  if (last.type !== 'generation.done' || !last.verdict) throw new Error('no verdict');
  return last.verdict;
}

describe('judgeAnswer', () => {
  it.each([
    ['mean', 4],
    ['max', 6],
  ] as const)('ranks the %s of the tokens that stand, if the calibration does', async (statistic, score) => {
    const risks = Object.assign(new HundredAnswers(), { statistic: () => statistic });
    const retracted: GuardEvent = { type: 'token.retracted', from: 7, tokens: 2 };
    const events = [...token(2), ...token(6), step(0), ...token(7), ...token(9), retracted, ...token(4)];
    await verdictOn([...events, step(1)], { risks });
    expect(risks.asked[0]).toBe(score);
  });

  it('ranks the sum of the scores, by the root of the weights, among ordinary answers', async () => {
    // The number counts twice: (50 + 46 + 2 · 50) / √4.
    const tokens = [...token(0, 50, 'a'), ...token(1, 46, ' b'), ...token(2, 50, ' 7')];
    const events = [...tokens, step(0), step(1), step(2), step(3, true)];
    const risks = new HundredAnswers();
    expect(await verdictOn(events, { risks })).toEqual({
      flagged: true,
      risk: 98 / 101,
      rate: 0.05,
      flaggedSteps: 1,
      steps: 4,
      unscoredTokens: 0,
      calibrated: true,
      reason: null,
      rank: 98 / 202,
      score: 98,
    });
    expect(risks.asked).toEqual([98]);
  });

  it.each([
    ['numbers', ['a 1', ' b', '2', 'c']],
    ['words', ['a 1', ' b', 'c']],
    ['short', ['a 1']],
  ])('compares an answer with those of the kind of most of its steps: %s', async (kind, texts) => {
    const risks = new HundredAnswers();
    const retracted: GuardEvent[] = [...token(0, 1, '3'), { type: 'token.retracted', from: 0, tokens: 1 }];
    const steps = texts.flatMap((text, i) => [...token(i, 1, text), step(i)]);
    await verdictOn([...retracted, ...steps], { risks });
    expect([...risks.kinds]).toEqual([kind]);
  });

  it('does not flag an answer because one of its steps is', async () => {
    const events = [90, 4, 4, 4].flatMap((score, i) => [...token(i, score), step(i, i === 0)]);
    expect(await verdictOn(events)).toMatchObject({
      flagged: false,
      flaggedSteps: 1,
      risk: (90 + 4 + 4 + 4) / 2 / 101,
      reason: null,
    });
  });

  it('passes on all events, and other fields of the last', async () => {
    const events = [...token(0), step(0)];
    const seen: GuardEvent[] = [];
    await new Promise<void>((resolve) => {
      from([...events, doneEvent('length', 7)])
        .pipe(judgeAnswer({ method: 'nll', rate: 0.05, risks: new HundredAnswers() }))
        .subscribe({ next: (event) => seen.push(event), complete: resolve });
    });
    expect(seen.slice(0, -1)).toEqual(events);
    expect(seen.at(-1)).toMatchObject(doneEvent('length', 7));
  });

  it('never unflags what is not scored', async () => {
    const low = [...token(0, 3), step(0), ...missing(1), step(1)];
    expect(await verdictOn(low)).toMatchObject({
      flagged: null,
      risk: 3 / 101,
      steps: 2,
      unscoredTokens: 1,
      reason: 'unscored_tokens',
    });
    const unheard = [...token(0), step(0), tokenEvent(1)];
    expect(await verdictOn(unheard)).toMatchObject({ flagged: null, unscoredTokens: 1 });
    const otherMethod = [tokenEvent(0), scoreEvent(0, { scores: { entropy: 1 } })];
    expect(await verdictOn(otherMethod)).toMatchObject({ flagged: null, risk: null, unscoredTokens: 1 });
    const final = [tokenEvent(0), scoreEvent(0, { scores: { nll: 1 }, pass: 'final' })];
    expect(await verdictOn(final)).toMatchObject({ flagged: null, unscoredTokens: 1 });
  });

  it('flags by what is scored, whatever is not', async () => {
    const high = [...token(0, 99), step(0), ...missing(1), step(1)];
    expect(await verdictOn(high)).toMatchObject({ flagged: true, unscoredTokens: 1, reason: null });
  });

  it('asks no risk model about an answer without a score', async () => {
    const risks = new HundredAnswers(false);
    expect(await verdictOn([...missing(0), step(0)], { risks })).toMatchObject({
      flagged: null,
      risk: null,
      calibrated: false,
      reason: 'unscored_tokens',
    });
    expect(await verdictOn([], { risks })).toMatchObject({ flagged: null, steps: 0, reason: 'empty' });
    expect(risks.asked).toEqual([]);
  });

  it('forgets what was retracted', async () => {
    const events: GuardEvent[] = [
      ...token(0, 3),
      step(0),
      ...missing(1),
      ...token(2, 100),
      { ...stopped(1), action: 'rollback' },
      { type: 'token.retracted', from: 1, tokens: 2 },
      ...token(1, 5),
      step(1),
    ];
    expect(await verdictOn(events)).toMatchObject({
      flagged: false,
      risk: (3 + 5) / Math.sqrt(2) / 101,
      steps: 2,
      flaggedSteps: 0,
      unscoredTokens: 0,
    });
  });

  it('flags an answer that the guard stopped, with the step it stopped at', async () => {
    const events = [...token(0, 3), step(0), ...token(1, 7), stopped(1)];
    expect(await verdictOn(events)).toMatchObject({
      flagged: true,
      risk: (3 + 7) / Math.sqrt(2) / 101,
      steps: 2,
      flaggedSteps: 1,
      reason: 'stopped',
    });
  });

  it('does not unflag an answer with parts that have no scores', async () => {
    const call = { type: 'upstream.delta', at: 1, chunk: {}, unscored: ['tool_calls'] } as const;
    expect(await verdictOn([...token(0, 3), step(0), call])).toMatchObject({
      flagged: null,
      risk: 3 / 101,
      reason: 'unscored_parts',
    });
    expect(await verdictOn([call])).toMatchObject({ flagged: null, reason: 'unscored_parts' });
    expect(await verdictOn([...token(0, 99), step(0), call])).toMatchObject({ flagged: true, reason: null });
    const field = { ...call, unscored: [] };
    expect(await verdictOn([...token(0, 3), step(0), field])).toMatchObject({ flagged: false, reason: null });
  });

  it('does not unflag by the scores of another model', async () => {
    const mismatch = { type: 'scorer.mismatch', tokens: 64, difference: 1, tolerance: 0.01 } as const;
    expect(await verdictOn([...token(0, 3), step(0), mismatch])).toMatchObject({
      flagged: null,
      reason: 'scorer_mismatch',
    });
  });

  it('says where too few answers are known', async () => {
    const answered = [...token(0, 3), step(0)];
    expect(await verdictOn(answered, { rate: 0.009 })).toMatchObject({
      flagged: null,
      risk: 3 / 101,
      reason: 'too_few_answers',
    });
    const risks = { ...new HundredAnswers(false), calibrated: () => false, ofAnswer: () => null };
    expect(await verdictOn(answered, { risks })).toMatchObject({
      flagged: null,
      risk: null,
      calibrated: false,
      reason: 'too_few_answers',
    });
  });

  it('does not count as scored what was passed over because scoring is behind', async () => {
    const scores: GuardEvent[] = [
      ...token(0),
      tokenEvent(1),
      scoreEvent(1, { scores: {}, skipped: ['nll'], reason: 'lag' }),
    ];
    expect(await verdictOn([...scores, step(0)])).toMatchObject({
      flagged: null,
      reason: 'unscored_tokens',
      unscoredTokens: 1,
    });
  });
});

it.each([
  [false, 0, 'ordinary'],
  [false, 1, 'check'],
  [true, 0, 'check'],
  [null, 0, null],
  [null, 2, 'check'],
] as const)('flagged: %s with %d flagged steps is told as %s', (flagged, flaggedSteps, advice) => {
  expect(adviceOf({ flagged, flaggedSteps })).toBe(advice);
});
