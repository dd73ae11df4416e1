import { setTimeout } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { DecodeWorker } from '#src/engine/child/decode-worker.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import type { FromDecode, GenerateMessage } from '#src/engine/protocol.js';
import { checkpointFolder } from '../../support/golden.js';

let checkpoint: Checkpoint;
let sessions: Sessions;
let sent: FromDecode[];
let worker: DecodeWorker;

beforeAll(async () => {
  checkpoint = await openCheckpoint(checkpointFolder('tiny-llama'));
  sessions = new Sessions(checkpoint, { threads: 1 });
  // Opened ahead, so that a pause in the messages means that there is nothing to do.
  for (const texts of [1, 2]) await sessions.get({ kind: 'forward', sequences: texts, result: 'logprobs' });
});

beforeEach(() => {
  sent = [];
  worker = new DecodeWorker({
    sessions,
    source: checkpoint,
    threads: 1,
    contextLength: 512,
    send: (message) => sent.push(message),
  });
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

  it('writes in company what it writes alone', async () => {
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
});
