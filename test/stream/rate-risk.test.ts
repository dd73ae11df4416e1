import { concat, from, lastValueFrom, throwError, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { type GenerationEvent, type Method, type RiskModel, rateRisk, type ScoreEvent } from '#src/index.js';

const token = (index: number): GenerationEvent => ({
  type: 'token.delta',
  index,
  id: index,
  text: '',
  logprob: -1,
  topLogprobs: [],
});

const scored = (index: number, scores: ScoreEvent['scores'], skipped: Method[] = []): ScoreEvent => ({
  type: 'score.delta',
  index,
  pass: 'stream',
  scores,
  skipped,
  rival: null,
});

/** Ranks by a tenth of the score; knows nothing of the margin. */
class TenthRisk implements RiskModel {
  readonly asked: string[] = [];
  calibrated = () => true;
  ofStep = () => null;
  ofAnswer = () => null;
  ofToken(method: Method, score: number, index: number): number | null {
    this.asked.push(`${method} ${score} at ${index}`);
    return method === 'margin' ? null : score / 10;
  }
}

const rated = (events: GenerationEvent[], risks: RiskModel): Promise<GenerationEvent[]> =>
  lastValueFrom(from(events).pipe(rateRisk(risks), toArray()));

describe('rateRisk', () => {
  it('adds the rank of each method that has a score and a rank, and passes on the rest', async () => {
    const risks = new TenthRisk();
    const score = scored(0, { nll: 3, margin: 1 });
    expect(await rated([token(0), score], risks)).toEqual([token(0), { ...score, risk: { nll: 0.3 } }]);
    expect(risks.asked).toEqual(['nll 3 at 0', 'margin 1 at 0']);
  });

  it('leaves out tokens that were passed over, and lets nobody learn of them', async () => {
    const risks = new TenthRisk();
    const late: ScoreEvent = { ...scored(0, {}, ['nll']), reason: 'lag' };
    expect(await rated([token(0), late], risks)).toEqual([token(0), late]);
    expect(risks.asked).toEqual([]);
  });

  it('does not rate final scores, which are of another scale', async () => {
    const final: ScoreEvent = { ...scored(0, { nll: 1 }), pass: 'final' };
    expect(await rated([final], new TenthRisk())).toEqual([final]);
  });

  it('passes on an error', async () => {
    const failing = concat(
      from([token(0)]),
      throwError(() => new Error('no')),
    );
    await expect(lastValueFrom(failing.pipe(rateRisk(new TenthRisk())))).rejects.toThrow('no');
  });

  it('ends with an error of the ranks, which is an error of this stream alone', async () => {
    const risks = new TenthRisk();
    risks.ofToken = () => {
      throw new Error('no rank');
    };
    await expect(rated([scored(0, { nll: 1 })], risks)).rejects.toThrow('no rank');
  });
});
