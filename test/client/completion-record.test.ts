import { describe, expect, it } from 'vitest';
import { CompletionRecord, type FlinchVerdict } from '#client/protocol.js';
import { flinchChunk, GUARD, ONE, VERDICT } from './fake-server.js';

const guard = GUARD;
const verdict = VERDICT;
const { token, stepDone, stepFlagged } = ONE;
const scored = { ...token, scores: { nll: 0.1 }, risk: { nll: 0.4 } };
const started = { type: 'rollback.started', rollback: 0, step: 0, from: 0, candidates: 1 };
const candidates = [{ text: 'Two.', tokens: 1, score: 3 }];
const done = { type: 'rollback.done', rollback: 0, step: 0, outcome: 'kept', chosen: 0, candidates };
const mismatch = { type: 'scorer.mismatch', tokens: 20, difference: 1.5, tolerance: 0.1 };

const flinch = flinchChunk;
const OPENING = flinch({ guard });
const ENDING = flinch({ verdict });
const NOTHING = { tokens: [], events: [] };
const none = (reason: string) => ({ flagged: null, risk: null, reason });

function verdictOf(...chunks: unknown[]): FlinchVerdict {
  const record = new CompletionRecord();
  for (const chunk of chunks) record.addChunk(chunk);
  return record.metadata.verdict;
}
function verdictOfWhole(completion: unknown): FlinchVerdict {
  const record = new CompletionRecord();
  record.addWhole(completion);
  return record.metadata.verdict;
}

describe('CompletionRecord', () => {
  it('knows the same of chunks and of a whole answer', () => {
    const streamed = new CompletionRecord();
    const events = [stepFlagged, started, done, stepDone, mismatch];
    const escalation = { type: 'generation.escalated', to: 'large', failed: null, risk: 0.99 };
    const vote = {
      type: 'generation.voted',
      answers: 3,
      agreed: 2,
      replaced: true,
      failed: null,
      risk: null,
    };
    const replaced = flinch({ tokens: [], escalations: [escalation], votes: [vote] });
    const chunks = [
      OPENING,
      flinch({ tokens: [token] }),
      flinch({ tokens: [scored], events }),
      replaced,
      ENDING,
    ];
    for (const chunk of chunks) streamed.addChunk(chunk);
    const whole = new CompletionRecord();
    const known = {
      guard,
      tokens: [scored],
      steps: [stepDone],
      flagged: [stepFlagged],
      rollbacks: [done],
      mismatches: [mismatch],
      escalations: [escalation],
      votes: [vote],
      verdict,
    };
    whole.addWhole({ choices: [], flinch: known });
    expect(streamed.metadata).toEqual(known);
    expect(whole.metadata).toEqual(known);
  });

  it('returns what a chunk says', () => {
    const record = new CompletionRecord();
    expect(record.addChunk(OPENING)).toEqual(NOTHING);
    expect(record.addChunk({ choices: [] })).toEqual(NOTHING);
    expect(record.addChunk(flinch({ tokens: [token] }))).toEqual({ tokens: [token], events: [] });
    const events = [stepDone];
    expect(record.addChunk(flinch({ tokens: [scored], events }))).toEqual({ tokens: [scored], events });
  });

  it("reads guard and verdict of OpenAI's responses", () => {
    const responses = [
      { type: 'response.created', response: { flinch: { guard, tokens: [] } } },
      { type: 'response.output_text.delta', flinch: { tokens: [scored] } },
      { type: 'response.completed', response: { flinch: { guard, tokens: [scored], verdict } } },
    ];
    expect(verdictOf(...responses)).toEqual(verdict);
    expect(verdictOf(...responses.slice(0, 2))).toEqual(none('no_verdict'));
  });

  it('knows why there is no verdict', () => {
    expect(verdictOf()).toEqual(none('no_flinch'));
    expect(verdictOf({ choices: [] })).toEqual(none('no_flinch'));
    expect(verdictOf(undefined, 'text')).toEqual(none('no_flinch'));
    expect(verdictOf(OPENING)).toEqual(none('no_verdict'));
    expect(verdictOf(flinch({ guard: { ...guard, enabled: false } }))).toEqual(none('guard_off'));
    expect(verdictOfWhole(undefined)).toEqual(none('no_flinch'));
    expect(verdictOfWhole({ choices: [] })).toEqual(none('no_flinch'));
    expect(verdictOfWhole(OPENING)).toEqual(none('no_verdict'));
    expect(verdictOfWhole(flinch({ guard: { ...guard, enabled: false } }))).toEqual(none('guard_off'));
  });

  it.each([
    ['no object', { flinch: 'of another kind' }],
    ['a verdict without its numbers', flinch({ verdict: { flagged: false } })],
    ['a flag that cannot be read', flinch({ events: [{ ...stepFlagged, risk: 'high' }] })],
    ['an event without its type', flinch({ events: [{ step: 0 }] })],
    ['a token after one that is missing', flinch({ tokens: [{ ...token, index: 1 }] })],
    ['a token that cannot be read', flinch({ tokens: [{ ...token, index: 'a' }] })],
    ['a risk out of range', flinch({ events: [{ ...stepDone, risk: 7 }] })],
  ])('has no clean verdict if `flinch` of a chunk is %s', (_, broken) => {
    expect(verdictOf(OPENING, broken, ENDING)).toEqual(none('protocol_error'));
  });

  it.each([
    ['no object', { flinch: 'of another kind' }],
    ['a verdict without its numbers', flinch({ guard, verdict: { flagged: false } })],
    ['a flag that cannot be read', flinch({ guard, verdict, flagged: [{ ...stepFlagged, risk: 'high' }] })],
    ['without a guard', ENDING],
  ])('has no clean verdict if `flinch` of a whole answer is %s', (_, broken) => {
    expect(verdictOfWhole(broken)).toEqual(none('protocol_error'));
  });

  it('passes over events and fields that a newer server sends', () => {
    const record = new CompletionRecord();
    const newer = flinch({ events: [{ type: 'step.doubted', step: 0 }, stepFlagged], more: 1 });
    expect(record.addChunk(newer)).toEqual({ tokens: [], events: [stepFlagged] });
    expect(verdictOf(OPENING, newer, ENDING)).toEqual(verdict);
  });
});
