import { describe, expect, it } from 'vitest';
import { AnswerRecord, metadataOf, readChunk } from '../../../client/langchain/src/answer-record.js';

const token = { index: 0, id: 5, text: 'a', logprob: null };
const step = { step: 0, from: 0, to: 1, text: 'a', method: 'nll', score: 1, risk: 0.99, calibrated: true };
const flagged = { type: 'step.flagged', ...step, action: 'annotate' };

describe('AnswerRecord', () => {
  it('keeps of each token what came last, and events by their kind', () => {
    const record = new AnswerRecord();
    const scored = { ...token, scores: { nll: 1 } };
    for (const flinch of [{ tokens: [token] }, { tokens: [scored], events: [flagged] }]) {
      record.add(readChunk({ flinch })!);
    }
    expect(record.metadata).toMatchObject({ tokens: [scored], flagged: [flagged], steps: [], verdict: null });
  });

  it('ignores events of a newer server, and chunks without flinch', () => {
    const flinch = { tokens: [], events: [{ type: 'step.sung' }, flagged], sung: true };
    expect(readChunk({ flinch })).toEqual({ tokens: [], events: [flagged] });
    expect(readChunk({ choices: [] })).toBeNull();
  });

  it('fails for what contradicts the protocol', () => {
    expect(() => readChunk({ flinch: { tokens: [{ index: 'a' }] } })).toThrow();
  });

  it('has no verdict where none came', () => {
    expect(metadataOf({})).toMatchObject({ verdict: null, guard: null, flagged: [] });
  });
});
