import { cp, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { from, lastValueFrom, type Observable, tap } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DEFAULT_SCORING,
  Engine,
  FlowGate,
  type GenerationEvent,
  METHODS,
  type Scoring,
  SequenceScorer,
  score,
  scoredGeneration,
  scoreResponse,
  type TokenEvent,
} from '#src/index.js';
import { checkpointFolder, goldenCases } from '../support/golden.js';
import { storedWeight } from '../support/weights.js';

const { promptIds, responseIds } = goldenCases('tiny-llama')[0]!;
const EMBEDDING = 'model.embed_tokens.weight';
const HIDDEN = 32;

/** The first row that the whole response depends on: that of the last token of the prompt. */
const used = promptIds.at(-1)! * HIDDEN;
/** The head's row of a token that never occurs: it matters as one among all alternatives. */
const text = [...promptIds, ...responseIds];
const unused = Array.from({ length: 600 }, (_, id) => id).find((id) => !text.includes(id))! * HIDDEN;

const offline: Scoring = { ...DEFAULT_SCORING, schedule: { kind: 'offline' } };
const windowed: Scoring = { ...DEFAULT_SCORING, schedule: { kind: 'windowed', block: 4, window: 8 } };
const SCORINGS = [offline, windowed].flatMap((scoring) => [
  scoring,
  ...METHODS.map((method): Scoring => ({ ...scoring, methods: [method] })),
]);

/** Opens a copy of tiny-llama with one number of one weight replaced, and closes and removes it afterwards. */
async function withPatched(
  tensor: string,
  element: number,
  value: number,
  work: (engine: Engine) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'flinch-nan-'));
  await cp(checkpointFolder('tiny-llama'), folder, { recursive: true });
  const engine = await Engine.open(folder);
  try {
    const { file, offset, type } = storedWeight(engine.checkpoint, tensor);
    expect(type).toBe('fp32');
    const handle = await open(file, 'r+');
    await handle.write(Buffer.from(Float32Array.of(value).buffer), 0, 4, offset + 4 * element);
    await handle.close();
    await work(engine);
  } finally {
    await engine.close();
    await rm(folder, { recursive: true });
  }
}

const request = {
  promptIds,
  maxTokens: 20,
  endIds: [],
  stop: [],
  topLogprobs: 0,
  sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
};

/** How a stream ends, and the scores that it gave before. */
async function collect(stream: Observable<GenerationEvent>) {
  const events: GenerationEvent[] = [];
  const error: unknown = await lastValueFrom(stream.pipe(tap((event) => events.push(event)))).then(
    () => null,
    (reason: unknown) => reason,
  );
  return { error, scores: events.filter(({ type }) => type === 'score.delta') };
}

/** The golden response as if the model had just written it, scored on its way. */
function rescored(engine: Engine, scoring: Scoring): Observable<GenerationEvent> {
  const tokens = responseIds.map((id, index): TokenEvent => {
    return { type: 'token.delta', index, id, text: '', logprob: -1, topLogprobs: [] };
  });
  const open = () => SequenceScorer.open(engine, promptIds, scoring);
  return from(tokens).pipe(score({ open, block: 4, gate: new FlowGate() }));
}

describe('a weight that is broken ends in an error of scoring, never in a score', () => {
  let intact: Engine;
  beforeAll(async () => {
    intact = await Engine.open(checkpointFolder('tiny-llama'));
  });
  afterAll(async () => {
    await intact.close();
  });

  it.each([
    ['NaN in an embedding', EMBEDDING, used, Number.NaN],
    ['inf in an embedding', EMBEDDING, used + 7, Number.POSITIVE_INFINITY],
    ['−inf in an embedding', EMBEDDING, used + 31, Number.NEGATIVE_INFINITY],
    ['an embedding whose square overflows', EMBEDDING, used, 3e38],
    ['NaN in a query projection', 'model.layers.0.self_attn.q_proj.weight', 500, Number.NaN],
    ['NaN in a key projection', 'model.layers.1.self_attn.k_proj.weight', 3, Number.NaN],
    ['inf in a value projection', 'model.layers.1.self_attn.v_proj.weight', 100, Number.POSITIVE_INFINITY],
    ['a value projection that overflows', 'model.layers.1.self_attn.v_proj.weight', 100, 1e25],
    ['an output projection that overflows', 'model.layers.2.self_attn.o_proj.weight', 100, 3e38],
    ['NaN in a gate', 'model.layers.1.mlp.gate_proj.weight', 9, Number.NaN],
    ['a feed-forward layer that overflows', 'model.layers.0.mlp.down_proj.weight', 9, 1e30],
    ['NaN in a norm', 'model.layers.0.input_layernorm.weight', 0, Number.NaN],
    ['inf in the last norm', 'model.norm.weight', 31, Number.POSITIVE_INFINITY],
    ['NaN in the head', 'lm_head.weight', unused, Number.NaN],
    ['inf in the head', 'lm_head.weight', unused, Number.POSITIVE_INFINITY],
    ['−inf in the head', 'lm_head.weight', unused, Number.NEGATIVE_INFINITY],
  ])('%s', async (_name, tensor, element, value) => {
    await withPatched(tensor, element, value, async (engine) => {
      for (const scoring of SCORINGS) {
        await expect(scoreResponse(engine, promptIds, responseIds, scoring)).rejects.toMatchObject({
          code: 'failed',
          message: expect.stringContaining('scoring failed: '),
        });
      }
      for (const methods of [METHODS, ['nll'] as const]) {
        const scoring = { ...windowed, methods };
        for (const stream of [rescored(engine, scoring), scoredGeneration(engine, request, scoring)]) {
          const { error, scores } = await collect(stream);
          expect(error).toMatchObject({ code: 'failed' });
          expect(scores).toEqual([]);
        }
      }
    });
  });

  // By the sign of the hidden state the logit is inf or −inf: then the probability is 0 and nll is finite.
  it.each([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    '%d in the head, seen where only the entropy shows it',
    async (value) => {
      await withPatched('lm_head.weight', unused, value, async (engine) => {
        const scoring: Scoring = { ...offline, methods: ['nll'] };
        const scored = scoreResponse(engine, promptIds, responseIds.slice(0, 1), scoring);
        await expect(scored).rejects.toMatchObject({ code: 'failed' });
      });
    },
  );

  it('a row that no token uses is of no matter', async () => {
    const whole = await scoreResponse(intact, promptIds, responseIds, windowed);
    await withPatched(EMBEDDING, unused, Number.NaN, async (engine) => {
      expect(await scoreResponse(engine, promptIds, responseIds, windowed)).toEqual(whole);
    });
  });

  it('tokens before the one that uses a broken row keep their scores', async () => {
    const first = responseIds.findIndex(
      (id, i) => i >= 8 && ![...promptIds, ...responseIds.slice(0, i)].includes(id),
    );
    expect(first).toBeGreaterThan(0);
    await withPatched(EMBEDDING, responseIds[first]! * HIDDEN, Number.NaN, async (engine) => {
      const before = responseIds.slice(0, first);
      expect(await scoreResponse(engine, promptIds, before, windowed)).toEqual(
        await scoreResponse(intact, promptIds, before, windowed),
      );
      const through = responseIds.slice(0, first + 2);
      await expect(scoreResponse(engine, promptIds, through, windowed)).rejects.toMatchObject({
        code: 'failed',
      });
    });
  });
});
