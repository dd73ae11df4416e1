import { type LanguageModelMiddleware, simulateReadableStream } from 'ai';
import { type FlinchDataPart, flinchMetadata, flinchMiddleware } from 'flinch-ai-sdk';
import { describe, expect, it } from 'vitest';
import { flinchChunk, GUARD, ONE, VERDICT } from '../fake-server.js';

const guard = GUARD;
const verdict = VERDICT;
const { token, stepDone, stepFlagged } = ONE;

/** What comes out of the middleware if a provider streams these raw chunks. */
async function heard(chunks: readonly unknown[]) {
  const data: FlinchDataPart[] = [];
  const { wrapStream } = flinchMiddleware({ onData: (part) => data.push(part) });
  const raw = chunks.map((rawValue) => ({ type: 'raw', rawValue }));
  const { stream } = await wrapStream({
    params: {},
    model: {
      provider: 'double.chat',
      doStream: async () => ({
        stream: simulateReadableStream<{ type: string }>({
          chunks: [...raw, { type: 'finish' }],
          initialDelayInMs: null,
          chunkDelayInMs: null,
        }),
      }),
    },
  });
  const parts: { type: string; providerMetadata?: unknown }[] = [];
  for await (const part of stream) parts.push(part);
  expect(parts.map(({ type }) => type)).toEqual(['finish']);
  return { metadata: flinchMetadata(parts[0]?.providerMetadata), data };
}

const flinch = flinchChunk;
const OPENING = flinch({ guard });
const ENDING = flinch({ verdict });

describe('flinchMiddleware', () => {
  it('is a middleware of the AI SDK', () => {
    const middleware: LanguageModelMiddleware = flinchMiddleware();
    expect(Object.keys(middleware)).toContain('wrapStream');
  });

  it('merges tokens with their scores, and tells a step once it is settled', async () => {
    const scored = { ...token, scores: { nll: 0.1 }, risk: { nll: 0.4 } };
    const chunks = [
      OPENING,
      flinch({ tokens: [token] }),
      flinch({ tokens: [scored] }),
      flinch({ events: [stepDone] }),
      ENDING,
    ];
    const { metadata, data } = await heard(chunks);
    const none = { flagged: [], rollbacks: [], mismatches: [], escalations: [], votes: [] };
    expect(metadata).toEqual({ guard, tokens: [scored], steps: [stepDone], ...none, verdict });
    const [answer] = data.map((part) => part.data.answer);
    expect(data).toEqual([
      {
        type: 'data-flinch-step',
        id: `${answer}/step-0`,
        data: {
          ...{ answer, step: 0, text: 'One.', flagged: false, risk: 0.4 },
          ...{ per: 'step', rate: 0.02, method: 'nll' },
          tokens: [{ text: 'One.', risk: 0.4 }],
          struck: [],
        },
      },
      { type: 'data-flinch-verdict', id: `${answer}/verdict`, data: { answer, ...verdict } },
    ]);
  });

  it.each([
    ['has no risk', { risk: null, score: null }],
    ['has tokens without scores', { unscored: 2 }],
  ])('does not call a step clean that %s', async (_, fields) => {
    const { data } = await heard([
      OPENING,
      flinch({ tokens: [token], events: [{ ...stepDone, ...fields }] }),
    ]);
    expect(data[0]).toMatchObject({ type: 'data-flinch-step', data: { flagged: null } });
  });

  it('tells the step that the guard stopped at, unless it was held back', async () => {
    const { data } = await heard([OPENING, flinch({ tokens: [token], events: [stepFlagged] })]);
    expect(data[0]).toMatchObject({ type: 'data-flinch-step', data: { flagged: true, text: 'One.' } });
    const held = await heard([OPENING, flinch({ events: [{ ...stepFlagged, text: '' }] })]);
    expect(held.data.map(({ type }) => type)).toEqual(['data-flinch-verdict']);
    expect(held.metadata?.flagged).toHaveLength(1);
  });

  it('has no clean verdict of what cannot be read, in the metadata and in the data part', async () => {
    const broken = flinch({ events: [{ ...stepFlagged, risk: 'high' }] });
    const none = { flagged: null, risk: null, reason: 'protocol_error' };
    const { metadata, data } = await heard([OPENING, broken, ENDING]);
    expect(metadata?.verdict).toEqual(none);
    expect(data).toMatchObject([{ type: 'data-flinch-verdict', data: none }]);
  });

  it('keeps the metadata of a provider that is named flinch', async () => {
    const { wrapGenerate } = flinchMiddleware();
    const { providerMetadata } = await wrapGenerate({
      model: { provider: 'flinch.chat' },
      doGenerate: async () => ({
        providerMetadata: { flinch: { acceptedPredictionTokens: 3 }, other: { a: 1 } },
        response: { body: { flinch: { guard, tokens: [token], steps: [stepDone], verdict } } },
      }),
    });
    expect(providerMetadata).toMatchObject({
      flinch: { acceptedPredictionTokens: 3, verdict },
      other: { a: 1 },
    });
    expect(flinchMetadata(providerMetadata)).toMatchObject({ steps: [stepDone], verdict });
  });
});

describe('flinchMetadata', () => {
  it('is null where there is none', () => {
    for (const given of [undefined, {}, { flinch: {} }, { flinch: { verdict } }])
      expect(flinchMetadata(given)).toBeNull();
  });
});
