import { sampleRankCorrelation } from 'simple-statistics';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { DecodeWorker } from '#src/engine/child/decode-worker.js';
import { Sessions, TOGETHER } from '#src/engine/child/graph-sessions.js';
import { ScoreWorker } from '#src/engine/child/score-worker.js';
import type { FromDecode, FromScore, PassToken } from '#src/engine/engine-messages.js';
import { openHalfWeights } from '#src/engine/half-weights.js';
import type { ModelSource } from '#src/graphs/decoder.js';
import { useFolder } from '../../support/cli.js';
import { type CheckpointName, checkpointFolder, largestDifference, REASONER } from '../../support/golden.js';

const folder = useFolder();
const MODELS = ['reasoner', 'tiny-qwen3'] as const;
const [BLOCK, WINDOW, LENGTH] = [8, 24, 72];

describe.each(MODELS)('%s in bf16', (name) => {
  let checkpoint: Checkpoint;
  let halves: ModelSource;
  let texts: readonly (readonly number[])[];
  let exact: readonly (readonly PassToken[])[];

  beforeAll(async () => {
    checkpoint = await openCheckpoint(
      name === 'reasoner' ? REASONER : checkpointFolder(name as CheckpointName),
    );
    halves = { ...checkpoint, rounded: await openHalfWeights(checkpoint, folder.path(name)) };
    texts = [3, 7, 11].map((step) =>
      Array.from({ length: LENGTH }, (_, i) => (i * step * 7919) % checkpoint.config.vocabSize),
    );
    exact = await scored(new Sessions(checkpoint, { threads: 1 }));
  });

  /** Derivatives of texts that are scored at the same time, block by block, as those that the engine itself writes. */
  async function scored(sessions: Sessions, known?: typeof exact): Promise<PassToken[][]> {
    const waiting = new Map<number, (message: FromScore) => void>();
    const send = (message: FromScore) => 'stream' in message && waiting.get(message.stream)!(message);
    const worker = new ScoreWorker({ sessions, source: checkpoint, threads: 1, contextLength: LENGTH, send });
    return Promise.all(
      texts.map(async (ids, stream) => {
        const tokens: PassToken[] = [];
        for (let from = BLOCK; from < ids.length; from += BLOCK) {
          const to = from + BLOCK;
          const answer = await new Promise<FromScore>((resolve) => {
            waiting.set(stream, resolve);
            const logprobs = known?.[stream]
              ?.slice(from - BLOCK, to - BLOCK)
              .map(({ probability }) => probability!.logprob);
            worker.pass({
              type: 'pass',
              stream,
              newIds: ids.slice(from === BLOCK ? 0 : from, to),
              start: Math.max(0, to - 1 - WINDOW),
              from,
              to,
              adversary: { alpha: 1e-4, form: 'derivative' },
              ...(logprobs && { logprobs }),
            });
          });
          if (answer.type !== 'scored') throw new Error(JSON.stringify(answer));
          tokens.push(...answer.tokens);
        }
        return tokens;
      }),
    );
  }
  const falls = (tokens: readonly (readonly PassToken[])[]): number[] =>
    tokens.flat().map(({ adversary }) => adversary!.fall);

  it.each(TOGETHER)('has nearly the derivatives of fp32 (%s)', async (together) => {
    const found = await scored(new Sessions(halves, { threads: 1, together }), exact);
    expect(falls(found)).not.toEqual(falls(exact));
    expect(sampleRankCorrelation(falls(found), falls(exact))).toBeGreaterThan(0.98);
    expect(found.flat().every(({ probability }) => probability === null)).toBe(true);
  });

  it.each(TOGETHER)('has the probabilities of fp32 where they are asked for (%s)', async (together) => {
    const found = await scored(new Sessions(halves, { threads: 1, together }));
    const logprobs = (tokens: typeof exact) => tokens.flat().map(({ probability }) => probability!.logprob);
    expect(largestDifference(logprobs(found), logprobs(exact))).toBeLessThan(1e-4);
  });

  it.each(TOGETHER)('writes nearly as in fp32 (%s)', async (together) => {
    const written = (source: ModelSource): Promise<FromDecode[]> =>
      new Promise((resolve) => {
        const all: FromDecode[] = [];
        const send = (message: FromDecode): void => {
          if (message.type === 'token') all.push(message);
          else if (message.type !== 'begun') resolve(all);
        };
        const sessions = new Sessions(source, { threads: 1, together });
        new DecodeWorker({ sessions, source, threads: 1, contextLength: LENGTH, send }).generate({
          type: 'generate',
          stream: 0,
          promptIds: texts[0]!.slice(0, 20),
          sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
          maxTokens: 12,
          endIds: [],
          topLogprobs: 0,
          credit: 12,
        });
      });
    const [before, after] = [await written(checkpoint), await written(halves)];
    const logprobs = (tokens: readonly FromDecode[]) =>
      tokens.map((token) => (token.type === 'token' ? token.logprob : Number.NaN));
    expect(after).toHaveLength(12);
    expect(logprobs(after)).not.toEqual(logprobs(before));
    expect(largestDifference(logprobs(after), logprobs(before))).toBeLessThan(0.1);
  });
});
