import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AddressPool } from '#src/engine/server/address-pool.js';
import { LostSequence, ServerFault } from '#src/engine/server/server-fault.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Addresses that fail while they are in `down`; what was asked of them is noted. */
function pool(addresses: readonly string[]) {
  const down = new Set<string>();
  const [asked, checked, lost]: string[][] = [[], [], []];
  const answer = async (address: string): Promise<string> => {
    if (down.has(address)) throw new ServerFault(`${address} is down`);
    return address;
  };
  const check = async (address: string): Promise<void> => {
    checked!.push(address);
    await answer(address);
  };
  const own = new AddressPool(addresses, { check, lost: (address) => lost!.push(address) });
  const use = () =>
    own.use((address) => {
      asked!.push(address);
      return answer(address);
    });
  return { own, use, down, asked: asked!, checked: checked!, lost: lost! };
}

describe('AddressPool', () => {
  it('asks the address that has the fewest requests', async () => {
    const { own } = pool(['a', 'b']);
    const hold = () => new Promise<string>(() => {});
    const taken: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      void own.use((address) => {
        taken.push(address);
        return hold();
      });
    }
    expect(taken.toSorted()).toEqual(['a', 'a', 'b', 'b']);
  });

  it('asks another address once after a fault, or the same one if there is no other', async () => {
    const two = pool(['a', 'b']);
    two.down.add('a');
    expect(await two.use()).toBe('b');
    expect(two.asked).toEqual(['a', 'b']);
    const one = pool(['a']);
    one.down.add('a');
    await expect(one.use()).rejects.toThrow('a is down');
    expect(one.asked).toEqual(['a', 'a']);
  });

  it('asks nothing of an address after three faults in a row, until a check succeeds', async () => {
    const { use, down, asked, checked, lost } = pool(['a']);
    down.add('a');
    await expect(use()).rejects.toThrow('a is down');
    await expect(use()).rejects.toThrow('a is down');
    expect(lost).toEqual(['a']);
    asked.length = 0;
    await expect(use()).rejects.toThrow('no inference server can be reached');
    expect(asked).toEqual([]);
    await vi.advanceTimersByTimeAsync(5000);
    await vi.advanceTimersByTimeAsync(9999);
    expect(checked).toEqual(['a']);
    down.clear();
    await vi.advanceTimersByTimeAsync(1);
    expect(checked).toEqual(['a', 'a']);
    expect(await use()).toBe('a');
  });

  it('does not count faults that answers interrupt, or errors that are its own', async () => {
    const { own, use, down, lost } = pool(['a']);
    for (let i = 0; i < 5; i += 1) {
      down.add('a');
      await expect(own.use(() => Promise.reject(new TypeError('mine')))).rejects.toThrow('mine');
      const failing = use();
      down.clear(); // the second attempt finds it up
      expect(await failing).toBe('a');
    }
    expect(lost).toEqual([]);
  });

  it('spreads sequences, asks them where they are, and gives them up with their address', async () => {
    const { own, down, lost } = pool(['a', 'b']);
    const [first, second] = [own.take(), own.take()];
    expect([first, second].toSorted()).toEqual(['a', 'b']);
    own.leave(second, false);
    expect(own.take(second)).toBe(first);
    expect(await own.at(first, async (address) => address)).toBe(first);
    down.add(first);
    const fail = () => own.at(first, () => Promise.reject(new ServerFault('down')));
    for (let i = 0; i < 3; i += 1) await expect(fail()).rejects.toThrow('down');
    expect(lost).toEqual([first]);
    await expect(fail()).rejects.toThrow('cannot be reached');
    expect(own.take()).toBe(second);
    own.leave(first, true);
    expect(own.status()[first === 'a' ? 0 : 1]).toMatchObject({
      up: false,
      runs: 4,
      failures: 3,
      sequences: 1,
      lostSequences: 1,
    });
  });

  it('does not count that a server lost a sequence as a fault of it', async () => {
    const { own, lost } = pool(['a']);
    for (let i = 0; i < 5; i += 1)
      await expect(own.at('a', () => Promise.reject(new LostSequence('gone')))).rejects.toThrow('gone');
    expect(lost).toEqual([]);
    expect(await own.at('a', async () => 'there')).toBe('there');
  });
});
