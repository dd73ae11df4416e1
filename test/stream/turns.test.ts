import { expect, it } from 'vitest';
import { Turns } from '#src/stream/turns.js';

const MESSAGE = 250;

/** A loop whose turns a test begins, and streams that read without end as far as they may. */
function loopOf(streams: number) {
  const turns: (() => void)[] = [];
  const all = new Turns((turn) => turns.push(turn));
  const read: number[] = [];
  let now = 0;
  const begin = (messages = Number.POSITIVE_INFINITY): number => {
    const i = read.push(0) - 1;
    const share = all.share();
    const go = async (): Promise<void> => {
      for (let left = messages; left > 0; left--) {
        if (share.over) await share.next();
        share.spend(MESSAGE);
        read[i]! += MESSAGE;
        now += MESSAGE;
      }
    };
    void go();
    return i;
  };
  for (let i = 0; i < streams; i++) begin();
  const turn = async (): Promise<number> => {
    now = 0;
    for (const each of turns.splice(0)) each();
    for (let i = 0; i < 200; i++) await null;
    return now;
  };
  return { begin, turn, read };
}

it.each([1, 30, 300])('reads no more in a turn of the loop for %i streams than for one', async (streams) => {
  const { turn, read } = loopOf(streams);
  for (let i = 0; i < 3 * streams; i++) expect(await turn()).toBeLessThanOrEqual((16 << 10) + MESSAGE);
  // And none waits for ever.
  expect(Math.min(...read)).toBeGreaterThan(0);
  expect(Math.max(...read)).toBeLessThan(Math.min(...read) + (64 << 10));
});

it('lets a small answer pass those that have had much', async () => {
  const { begin, turn, read } = loopOf(100);
  for (let i = 0; i < 400; i++) await turn();
  const small = begin(8);
  await turn();
  await turn();
  expect(read[small]).toBe(8 * MESSAGE);
});

it('has one stream go on in each turn', async () => {
  const { turn, read } = loopOf(1);
  for (let i = 0; i < 10; i++) await turn();
  expect(read[0]).toBeGreaterThanOrEqual(10 * (8 << 10));
});
