import { type LanguageModelMiddleware, simulateReadableStream } from 'ai';
import { type FlinchDataPart, type FlinchMetadata, flinchMetadata, flinchMiddleware } from 'flinch-ai-sdk';
import { describe, expect, it } from 'vitest';

const guard = {
  ...{
    enabled: true,
    methods: ['nll'],
    method: 'nll',
    rate: 0.02,
    delivery: 'immediate',
    action: 'annotate',
  },
};
const verdict = {
  ...{ flagged: false, risk: 0.3, rate: 0.02, flagged_steps: 0, steps: 1, unscored_tokens: 0 },
  ...{ calibrated: true, reason: null },
};
const token = { index: 0, id: 5, text: 'One.', logprob: -0.1 };
const rating = { method: 'nll', score: 0.1, risk: 0.4, calibrated: true };
const span = { step: 0, from: 0, to: 1, text: 'One.' };
const stepDone = { type: 'step.done', ...span, ...rating, flagged: false };
const stepFlagged = { type: 'step.flagged', ...span, ...rating, risk: 0.99, action: 'stop' };

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
          ...{ chunks: [...raw, { type: 'finish' }], initialDelayInMs: null, chunkDelayInMs: null },
        }),
      }),
    },
  });
  const parts: { type: string; providerMetadata?: unknown }[] = [];
  for await (const part of stream) parts.push(part);
  expect(parts.map(({ type }) => type)).toEqual(['finish']);
  return { metadata: flinchMetadata(parts[0]?.providerMetadata), data };
}

const flinch = (fields: object = {}) => ({ choices: [], flinch: { tokens: [], ...fields } });
const OPENING = flinch({ guard });
const ENDING = flinch({ verdict });

const verdictOf = async (...chunks: unknown[]): Promise<FlinchMetadata['verdict'] | undefined> =>
  (await heard(chunks)).metadata?.verdict;

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
    expect(metadata).toEqual({
      ...{ guard, tokens: [scored], steps: [stepDone], flagged: [], rollbacks: [], mismatches: [], verdict },
    });
    const [answer] = data.map((part) => part.data.answer);
    expect(data).toEqual([
      {
        type: 'data-flinch-step',
        id: `${answer}/step-0`,
        data: {
          ...{
            answer,
            step: 0,
            text: 'One.',
            flagged: false,
            risk: 0.4,
            per: 'step',
            rate: 0.02,
            method: 'nll',
          },
          ...{ tokens: [{ text: 'One.', risk: 0.4 }], struck: [] },
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

  it('knows why there is no verdict', async () => {
    const none = (reason: string) => ({ flagged: null, risk: null, reason });
    expect(await verdictOf()).toEqual(none('no_flinch'));
    expect(await verdictOf({ choices: [] })).toEqual(none('no_flinch'));
    expect(await verdictOf(undefined, 'text')).toEqual(none('no_flinch'));
    expect(await verdictOf(OPENING)).toEqual(none('no_verdict'));
    expect(await verdictOf(flinch({ guard: { ...guard, enabled: false } }))).toEqual(none('guard_off'));
  });

  it.each([
    ['no object', { flinch: 'of another kind' }],
    ['a verdict without its numbers', flinch({ verdict: { flagged: false } })],
    ['a flag that cannot be read', flinch({ events: [{ ...stepFlagged, risk: 'high' }] })],
    ['a token after one that is missing', flinch({ tokens: [{ ...token, index: 1 }] })],
    ['a risk out of range', flinch({ events: [{ ...stepDone, risk: 7 }] })],
  ])('has no clean verdict if `flinch` is %s', async (_, broken) => {
    expect(await verdictOf(OPENING, broken, ENDING)).toMatchObject({
      flagged: null,
      reason: 'protocol_error',
    });
  });

  it('passes over events and fields that a newer server sends', async () => {
    const newer = flinch({ events: [{ type: 'step.doubted', step: 0 }], more: 1 });
    expect(await verdictOf(OPENING, newer, ENDING)).toEqual(verdict);
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
