import { setImmediate } from 'node:timers/promises';
import { concat, from, lastValueFrom, Observable, throwError, toArray } from 'rxjs';
import { expect, it } from 'vitest';
import { FlowGate } from '#src/index.js';
import { paced } from '#src/stream/paced.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

it('passes on few events as they come', () => {
  const passed: number[] = [];
  from(numbers(100))
    .pipe(paced(new FlowGate()))
    .subscribe((event) => passed.push(event));
  expect(passed).toEqual(numbers(100));
});

it('passes on many in turns, in order, and holds the gate meanwhile', async () => {
  const gate = new FlowGate();
  const passed: number[] = [];
  const turns: number[] = [];
  let over = false;
  const source = from(numbers(1000)).pipe(paced(gate));
  source.subscribe({ next: (event) => passed.push(event), complete: () => (over = true) });
  while (!over) {
    expect(gate.open).toBe(false);
    turns.push(passed.length);
    await setImmediate();
  }
  expect(turns).toEqual([256, 512, 768]);
  expect(passed).toEqual(numbers(1000));
  expect(gate.open).toBe(true);
});

it('passes on an error after what came before it', async () => {
  const passed: number[] = [];
  const failing = concat(
    from(numbers(300)),
    throwError(() => new Error('over')),
  );
  const over = new Promise((resolve) => {
    failing.pipe(paced(new FlowGate())).subscribe({ next: (event) => passed.push(event), error: resolve });
  });
  expect(await over).toEqual(new Error('over'));
  expect(passed).toEqual(numbers(300));
});

it('counts anew in each turn of events that come one by one', async () => {
  const gate = new FlowGate();
  const slow = new Observable<number>((subscriber) => {
    const write = async (): Promise<void> => {
      for (const number of numbers(600)) {
        if (!gate.open) await gate.opened();
        subscriber.next(number);
        await null;
      }
      subscriber.complete();
    };
    void write();
  });
  expect(await lastValueFrom(slow.pipe(paced(gate), toArray()))).toEqual(numbers(600));
});

it('leaves nothing behind when nobody listens any more', async () => {
  const gate = new FlowGate();
  const passed: number[] = [];
  const subscription = from(numbers(1000))
    .pipe(paced(gate))
    .subscribe((event) => passed.push(event));
  subscription.unsubscribe();
  expect(gate.open).toBe(true);
  await setImmediate();
  expect(passed).toEqual(numbers(256));
});
