import { describe, expect, it } from 'vitest';
import { Channel } from '#gateway/workers/channel.js';
import { EngineError } from '#src/engine/engine-errors.js';
import { UsageError } from '#src/files/file-errors.js';

interface Side {
  add(a: number, b: number): Promise<number>;
  note(text: string): void;
  fail(kind: string): void;
}

const ERRORS: Readonly<Record<string, Error>> = {
  engine: new EngineError('memory', 'too much'),
  system: Object.assign(new Error('in use'), { code: 'EADDRINUSE', syscall: 'bind', port: 80, secret: 1 }),
  known: new UsageError('--workers: no'),
  unknown: new TypeError('oops'),
};

/** Two ends whose messages are copied, as between processes. */
function pair() {
  const notes: string[] = [];
  const side: Side = {
    add: async (a, b) => a + b,
    note: (text) => void notes.push(text),
    fail: (kind) => {
      throw ERRORS[kind];
    },
  };
  const called = new Channel<Side>((message) => caller.receive(structuredClone(message)), { ...side });
  const caller: Channel<Side> = new Channel<Side>((message) => called.receive(structuredClone(message)), {});
  return { caller, notes };
}

describe('a channel between two processes', () => {
  it('brings results back, and tells in order', async () => {
    const { caller, notes } = pair();
    caller.tell('note', 'first');
    const [a, b] = await Promise.all([caller.call('add', 1, 2), caller.call('add', 3, 4)]);
    caller.tell('note', 'second');
    expect([a, b, notes]).toEqual([3, 7, ['first', 'second']]);
  });

  it('brings errors back as what they are', async () => {
    const { caller } = pair();
    const failure = (kind: string) => caller.call('fail', kind).catch((error: unknown) => error);
    expect(await failure('engine')).toMatchObject({
      name: 'EngineError',
      code: 'memory',
      message: 'too much',
    });
    const system = await failure('system');
    expect(system).toMatchObject({ code: 'EADDRINUSE', syscall: 'bind', port: 80 });
    expect(system).not.toHaveProperty('secret');
    expect(await failure('known')).toMatchObject({ message: '--workers: no', stack: '--workers: no' });
    expect(await failure('unknown')).toMatchObject({ stack: expect.stringContaining('channel.test.ts') });
  });

  it('answers nothing once it is closed', async () => {
    const caller = new Channel<Side>(() => {}, {});
    const waiting = caller.call('add', 1, 2);
    caller.close(new Error('died'));
    await expect(waiting).rejects.toThrow('died');
    await expect(caller.call('add', 1, 2)).rejects.toThrow('died');
  });
});
