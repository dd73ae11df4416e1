import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { DecodeWorker, decodeGraph } from '#src/engine/child/decode-worker.js';
import { Sessions, TOGETHER } from '#src/engine/child/graph-sessions.js';
import type { FromDecode, GenerateMessage } from '#src/engine/engine-messages.js';
import { openIntegerWeights } from '#src/engine/integer-weights.js';
import { useFolder } from '../../support/cli.js';
import { checkpointFolder } from '../../support/golden.js';

const folder = useFolder();

let checkpoint: Checkpoint;
let sessions: Sessions;
let sent: FromDecode[];
let worker: DecodeWorker;

beforeAll(async () => {
  checkpoint = await openCheckpoint(checkpointFolder('tiny-llama'));
  sessions = new Sessions(checkpoint, { threads: 1 });
  // Opened ahead, so that a pause in the messages means that there is nothing to do.
  for (const rows of [[2], [1], [1, 1]]) await sessions.get(decodeGraph(rows, {}));
});

const workerOf = (some: Sessions): DecodeWorker =>
  new DecodeWorker({
    sessions: some,
    source: checkpoint,
    threads: 1,
    contextLength: 512,
    prefixCacheBytes: 2 ** 20,
    send: (message) => sent.push(message),
  });

beforeEach(() => {
  sent = [];
  worker = workerOf(sessions);
});

const request = (stream: number, changes: Partial<GenerateMessage> = {}): GenerateMessage => ({
  type: 'generate',
  stream,
  promptIds: [638, 82, 475, stream],
  sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
  maxTokens: 10,
  endIds: [],
  topLogprobs: 0,
  credit: 100,
  ...changes,
});

/** Waits until the worker has nothing left that it may do. */
async function idle(): Promise<void> {
  for (let before = -1; before !== sent.length; ) {
    before = sent.length;
    await setTimeout(150);
  }
}

const streams = () => sent.flatMap((message) => (message.type === 'token' ? [message.stream] : []));

describe('DecodeWorker', () => {
  it('serves its streams together, token by token', async () => {
    worker.generate(request(1));
    worker.generate(request(2, { maxTokens: 3 }));
    await idle();
    // The first run has begun when stream 2 arrives.
    expect(streams().slice(0, 7)).toEqual([1, 1, 2, 1, 2, 1, 2]);
    expect(sent.filter(({ type }) => type === 'end')).toEqual([
      { type: 'end', stream: 2, reason: 'length' },
      { type: 'end', stream: 1, reason: 'length' },
    ]);
  });

  it.each(TOGETHER)('writes in company what it writes alone (%s)', async (together) => {
    worker = workerOf(new Sessions(checkpoint, { threads: 1, together }));
    const texts: number[][] = [];
    const requests = [1, 2, 3].map((stream) => request(stream, { maxTokens: 3 * stream }));
    for (const alone of requests) {
      sent = [];
      worker.generate(alone);
      await idle();
      texts.push(sent.flatMap((message) => (message.type === 'token' ? [message.id] : [])));
    }
    sent = [];
    for (const together of requests) worker.generate(together);
    await idle();
    for (const [i, ids] of texts.entries()) {
      const written = sent.flatMap((message) =>
        message.type === 'token' && message.stream === i + 1 ? [message.id] : [],
      );
      expect(written).toEqual(ids);
    }
  });

  it('lets others go on while a long prompt is read', async () => {
    // So slow a machine that 400 tokens take several runs.
    const send = (message: FromDecode) => sent.push(message);
    const slow = new DecodeWorker({ sessions, source: checkpoint, threads: 2e-4, contextLength: 512, send });
    slow.generate(request(1, { promptIds: Array.from({ length: 400 }, (_, i) => i) }));
    slow.generate(request(2, { maxTokens: 4 }));
    await idle();
    expect(streams().indexOf(1)).toBeGreaterThan(1);
    expect(streams().filter((stream) => stream === 1)).toHaveLength(10);
  });

  it('sends no more tokens than it has credit for, and goes on when credit comes', async () => {
    worker.generate(request(1, { credit: 3 }));
    await idle();
    expect(streams()).toHaveLength(3);
    worker.credit(1, 2);
    await idle();
    expect(streams()).toHaveLength(5);
  });

  it('stops a cancelled stream between two runs', async () => {
    worker.generate(request(1, { maxTokens: 300, credit: 300 }));
    worker.generate(request(2, { maxTokens: 20 }));
    while (streams().length < 6) await setTimeout(1);
    worker.cancel(1);
    const before = streams().filter((stream) => stream === 1).length;
    await idle();
    expect(streams().filter((stream) => stream === 1)).toHaveLength(before);
    expect(sent.at(-1)).toEqual({ type: 'end', stream: 2, reason: 'length' });
  });

  it('fails the stream whose text outgrows the context, and no other', async () => {
    worker.generate(request(1, { promptIds: Array.from({ length: 510 }, (_, i) => i) }));
    worker.generate(request(2));
    await idle();
    expect(sent.find(({ type }) => type === 'failed')).toMatchObject({
      stream: 1,
      message: expect.stringContaining('limit of 512'),
    });
    expect(sent.at(-1)).toMatchObject({ type: 'end', stream: 2 });
  });

  describe('reads no beginning twice', () => {
    const prompt = Array.from({ length: 120 }, (_, i) => 10 + ((7 * i) % 500));
    const rows: number[] = [];

    beforeEach(async () => {
      rows.length = 0;
      for (const count of [2, 1]) {
        const session = await sessions.get(decodeGraph([count], {}));
        const run = session.run.bind(session);
        vi.spyOn(session, 'run').mockImplementation((feeds, fetches) => {
          rows.push(feeds['ids.0']!.dims[0]!);
          return run(feeds, fetches);
        });
      }
    });
    afterEach(() => vi.restoreAllMocks());

    const written = async (message: GenerateMessage) => {
      sent = [];
      worker.generate(message);
      await idle();
      const [begun, ...rest] = sent;
      return {
        cached: begun?.type === 'begun' && begun.cachedTokens,
        tokens: rest.map((message) => ({ ...message, stream: 0 })),
      };
    };

    it('of the same client, and writes the same, to the last bit', async () => {
      const alone = await written(request(1, { promptIds: prompt, maxTokens: 4 }));
      const first = await written(request(2, { promptIds: prompt, maxTokens: 4, client: 'a' }));
      const second = await written(request(3, { promptIds: prompt, maxTokens: 4, client: 'a' }));
      const other = await written(request(4, { promptIds: prompt, maxTokens: 4, client: 'b' }));
      expect(rows.filter((count) => count > 1)).toEqual([120, 120, 8, 120]);
      for (const { tokens } of [first, second, other]) expect(tokens).toEqual(alone.tokens);
      expect([alone, first, second, other].map(({ cached }) => cached)).toEqual([0, 0, 112, 0]);
    });

    it('of a conversation, where the next turn begins with the last one', async () => {
      const next = [...prompt, 5, 6, 7, ...prompt.slice(0, 30)];
      const alone = await written(request(1, { promptIds: next, maxTokens: 4 }));
      await written(request(2, { promptIds: prompt, maxTokens: 4, client: 'a' }));
      rows.length = 0;
      const turn = await written(request(3, { promptIds: next, maxTokens: 4, client: 'a' }));
      expect(turn).toEqual({ ...alone, cached: 112 });
      expect(rows.filter((count) => count > 1)).toEqual([41]);
    });

    it('with weights in integers, too, which reads prompts in the same pieces', async () => {
      const integers = await openIntegerWeights(checkpoint, folder.path('int8'));
      const source = { ...checkpoint, integers };
      const packed = new Sessions(source, { threads: 1, packed: true });
      for (const rows of [[2], [1]]) await packed.get(decodeGraph(rows, source));
      worker = new DecodeWorker({
        sessions: packed,
        source,
        threads: 1,
        contextLength: 512,
        prefixCacheBytes: 2 ** 20,
        send: (message) => sent.push(message),
      });
      const texts = [97, 112, 120].map((length) => ({ promptIds: prompt.slice(0, length), maxTokens: 4 }));
      for (const [i, text] of texts.entries()) {
        const alone = await written(request(1, text));
        await written(request(2, { ...text, client: `${i}` }));
        const again = await written(request(3, { ...text, client: `${i}` }));
        expect(again).toEqual({ ...alone, cached: text.promptIds.length < 98 ? 64 : 96 });
      }
    });

    it('also of one that was cancelled, as far as it was read, and of one that may be continued', async () => {
      worker.generate(request(1, { promptIds: prompt, maxTokens: 50, client: 'a' }));
      while (streams().length === 0) await setTimeout(1);
      worker.cancel(1);
      await idle();
      rows.length = 0;
      await written(request(2, { promptIds: [...prompt, 1, 2], retain: true, client: 'a' }));
      worker.cancel(2);
      await written(request(3, { promptIds: [...prompt, 1, 2], client: 'a' }));
      expect(rows.filter((count) => count > 1)).toEqual([10, 10]);
    });
  });
});
