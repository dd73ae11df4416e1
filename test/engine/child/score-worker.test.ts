import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { ScoreWorker } from '#src/engine/child/score-worker.js';
import type { FromScore, PassMessage, ReadMessage } from '#src/engine/engine-messages.js';
import type { OpenedGraph } from '#src/engine/ort-session.js';
import { checkpointFolder } from '../../support/golden.js';

let checkpoint: Checkpoint;
let sessions: Sessions;
let forward: OpenedGraph;
let sent: FromScore[];
let forwardRuns: MockInstance;
let worker: ScoreWorker;

beforeAll(async () => {
  checkpoint = await openCheckpoint(checkpointFolder('tiny-llama'));
  sessions = new Sessions(checkpoint, { threads: 1 });
  forward = await sessions.get({ kind: 'forward', sequences: 1, result: 'statistics' });
});

beforeEach(() => {
  sent = [];
  forwardRuns = vi.spyOn(forward, 'run');
  const send = (message: FromScore) => sent.push(message);
  const limits = { contextLength: 8192, prefixCacheBytes: 2 ** 24 };
  worker = new ScoreWorker({ sessions, source: checkpoint, threads: 1, ...limits, send });
});
afterEach(() => vi.restoreAllMocks());

/** How often the real session was run to read what is before a window. */
const runs = () => forwardRuns.mock.calls.length;

const ids = (count: number) => Array.from({ length: count }, (_, i) => i % 600);
/** Scores the last eight tokens of a text over the 64 positions before them. */
const pass = (stream: number, length: number): PassMessage => ({
  type: 'pass',
  stream,
  newIds: ids(length),
  start: Math.max(0, length - 1 - 64),
  from: length - 8,
  to: length,
  adversary: { alpha: 1e-3, form: 'perturb' },
});

async function answered(stream: number): Promise<void> {
  while (!sent.some((message) => 'stream' in message && message.stream === stream)) await setTimeout(1);
}

describe('ScoreWorker', () => {
  it('lists as many of the most probable tokens as a pass asks for, also beside others', async () => {
    const plain = { ...pass(4, 40), adversary: null };
    const passes = [pass(1, 40), { ...pass(2, 40), top: 10 }, { ...pass(3, 40), top: 10 }, plain];
    for (const message of [...passes, { ...plain, stream: 5, top: 10 }]) worker.pass(message);
    for (const stream of [1, 2, 3, 4, 5]) await answered(stream);
    const tops = [1, 2, 3, 4, 5].map((stream) =>
      sent.flatMap((message) =>
        message.type === 'scored' && message.stream === stream
          ? message.tokens.map(({ probability }) => probability!.top.map(({ id }) => id))
          : [],
      ),
    );
    const five = tops[0]!;
    expect(five.map((top) => top.length)).toEqual(Array(8).fill(5));
    expect(tops[3]).toEqual(five);
    for (const i of [1, 2, 4]) {
      expect(tops[i]!.map((top) => top.length)).toEqual(Array(8).fill(10));
      expect(tops[i]!.map((top) => top.slice(0, 5))).toEqual(five);
    }
  });

  it('lets a short text through while a long one is read', async () => {
    worker.pass(pass(1, 4000));
    worker.pass(pass(2, 72));
    await answered(2);
    expect(sent).toHaveLength(1);
    expect(runs()).toBeLessThan(4);
    await answered(1);
    expect(runs()).toBeGreaterThan(14);
  });

  it('serves a client that asks for little before the rest of what another asks for', async () => {
    const streams = [1, 2, 3, 4, 5, 6];
    for (const stream of streams) {
      // Of their own each, so that none goes with another.
      const adversary = { alpha: stream * 1e-4, form: 'perturb' } as const;
      worker.pass({ ...pass(stream, 60), client: stream === 6 ? 'modest' : 'greedy', adversary });
    }
    for (const stream of streams) await answered(stream);
    expect(sent.map((message) => 'stream' in message && message.stream)).toEqual([1, 6, 2, 3, 4, 5]);
  });

  it('does no more for a text that was released', async () => {
    worker.pass(pass(1, 4000));
    while (runs() < 3) await setTimeout(1);
    worker.release(1);
    worker.pass(pass(2, 72));
    await answered(2);
    expect(runs()).toBeLessThan(8);
    expect(sent).toHaveLength(1);
  });

  it('gives the same scores whatever was computed before', async () => {
    worker.pass(pass(1, 300));
    await answered(1);
    worker.pass({ ...pass(1, 300), newIds: [] });
    worker.pass(pass(2, 300));
    await answered(2);
    const [first, again, other] = sent.map((message) => (message.type === 'scored' ? message.tokens : null));
    expect(again).toEqual(first);
    expect(other).toEqual(first);
  });

  it('fails the text that outgrows the context, and no other', async () => {
    worker.pass({ ...pass(1, 72), newIds: ids(9000), start: 8500, from: 8990, to: 9000 });
    worker.pass(pass(2, 72));
    await answered(2);
    expect(sent.map(({ type }) => type)).toEqual(['failed', 'scored']);
  });

  describe('reads ahead', () => {
    const LENGTH = 300;
    const read = (stream: number, newIds: readonly number[], client = ''): ReadMessage => ({
      type: 'read',
      stream,
      newIds,
      end: LENGTH - 8 - 64,
      client,
    });
    const rowsRead = () =>
      forwardRuns.mock.calls.map(([feeds]) => feeds['ids.0'].dims[0]).reduce((a, b) => a + b, 0);
    const scored = async (stream: number) => {
      worker.pass({ ...pass(stream, LENGTH), newIds: ids(LENGTH).slice(-8) });
      while (!sent.some((message) => message.type === 'scored' && message.stream === stream))
        await setTimeout(1);
      const [scores] = sent.filter((message) => message.type === 'scored' && message.stream === stream);
      return { ...scores, stream: 0 };
    };

    it('and not twice what others have read for the same client, with the same scores to the last bit', async () => {
      worker.pass(pass(1, LENGTH));
      await answered(1);
      const alone = { ...sent.find((message) => message.type === 'scored'), stream: 0 };
      const prompt = ids(LENGTH).slice(0, -8);
      const [first, again, other] = [2, 3, 4];
      for (const [stream, scope, rows] of [
        [first, 'a', LENGTH - 72],
        [again, 'a', 4],
        [other, 'b', LENGTH - 72],
      ] as const) {
        forwardRuns.mockClear();
        worker.read(read(stream, prompt, scope));
        await answered(stream);
        expect(rowsRead()).toBe(rows);
        expect(await scored(stream)).toEqual(alone);
        worker.release(stream);
      }
    });

    it('and keeps nothing that a pass has written since', async () => {
      const prompt = ids(LENGTH).slice(0, -8);
      worker.read(read(1, prompt, 'a'));
      await answered(1);
      worker.pass({ ...pass(1, LENGTH), newIds: ids(LENGTH).slice(-8), start: 100 });
      while (!sent.some(({ type }) => type === 'scored')) await setTimeout(1);
      worker.release(1);
      forwardRuns.mockClear();
      worker.read(read(2, prompt, 'a'));
      await answered(2);
      expect(rowsRead()).toBe(LENGTH - 72 - 96);
    });
  });
});
