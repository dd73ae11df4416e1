import { setImmediate } from 'node:timers/promises';
import { Subject, take } from 'rxjs';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type DoneEvent,
  FlowGate,
  type GenerationEvent,
  type NewToken,
  score,
  type TokenEvent,
  type TokenScore,
  type TokenScorer,
  type WrittenEvent,
} from '#src/index.js';
import { END_WAIT_MS } from '#src/stream/score.js';

const BLOCK = 2;

/** A scorer whose passes end when the test says so: what is tested here is order, not numbers. */
class ManualScorer {
  /** The ids of each block. */
  readonly pushed: number[][] = [];
  closed = false;
  readonly #pending: {
    resolve: (scores: TokenScore[]) => void;
    reject: (error: Error) => void;
    ids: number[];
  }[] = [];
  #waiting: number[] = [];
  #scored = 0;

  async push(tokens: readonly NewToken[]): Promise<TokenScore[]> {
    this.#waiting.push(...tokens.map(({ id }) => id));
    return this.#waiting.length < BLOCK ? [] : this.#pass();
  }

  async finish(): Promise<TokenScore[]> {
    return this.#waiting.length > 0 ? this.#pass() : [];
  }

  async passOver(tokens: readonly NewToken[]) {
    return tokens.map(() => ({
      index: this.#scored++,
      scores: {},
      skipped: ['adversarial' as const],
      rival: null,
    }));
  }

  #pass(): Promise<TokenScore[]> {
    const ids = this.#waiting.splice(0);
    this.pushed.push(ids);
    return new Promise((resolve, reject) => this.#pending.push({ resolve, reject, ids }));
  }

  close(): void {
    this.closed = true;
  }

  async answer(): Promise<void> {
    const { resolve, ids } = this.#pending.shift()!;
    resolve(
      ids.map((id) => ({
        index: this.#scored++,
        id,
        logprob: -1,
        scores: { adversarial: id },
        skipped: [],
        rival: null,
      })),
    );
    for (let i = 0; i < 5; i++) await setImmediate();
  }

  async fail(error: Error): Promise<void> {
    this.#pending.shift()!.reject(error);
    for (let i = 0; i < 5; i++) await setImmediate();
  }
}

const token = (index: number, logprob = -1): TokenEvent => ({
  type: 'token.delta',
  index,
  id: 100 + index,
  text: '',
  logprob,
  topLogprobs: [],
});
const done: DoneEvent = {
  type: 'generation.done',
  finishReason: 'stop',
  usage: { promptTokens: 1, completionTokens: 0 },
};

let source: Subject<WrittenEvent>;
let scorer: ManualScorer;
let gate: FlowGate;
let log: string[];
let unsubscribe: () => void;

const write = (event: GenerationEvent): string =>
  event.type === 'token.delta'
    ? `t${event.index}`
    : event.type === 'score.delta'
      ? `${event.reason ?? 's'}${event.index}`
      : event.type === 'generation.done'
        ? 'done'
        : event.type;

async function send(...indices: number[]): Promise<void> {
  for (const index of indices) source.next(token(index));
  for (let i = 0; i < 5; i++) await setImmediate();
}

beforeEach(() => {
  source = new Subject();
  scorer = new ManualScorer();
  gate = new FlowGate();
  log = [];
  const subscription = source.pipe(score({ open: async () => scorer, block: BLOCK, gate })).subscribe({
    next: (event) => log.push(write(event)),
    error: (error: Error) => log.push(`error ${error.message}`),
    complete: () => log.push('complete'),
  });
  unsubscribe = () => subscription.unsubscribe();
});

const isOpen = async (): Promise<boolean> =>
  Promise.race([gate.opened().then(() => true), setImmediate().then(() => false)]);

describe('score', () => {
  it('emits tokens at once and their scores when the block is scored', async () => {
    await send(0);
    expect(log).toEqual(['t0']);
    await send(1);
    expect(log).toEqual(['t0', 't1']);
    await scorer.answer();
    expect(log).toEqual(['t0', 't1', 's0', 's1']);
  });

  it('holds a token back while the first unscored one is more than a block behind', async () => {
    await send(0, 1, 2, 3, 4);
    expect(log).toEqual(['t0', 't1', 't2']);
    await scorer.answer();
    expect(log).toEqual(['t0', 't1', 't2', 's0', 's1', 't3', 't4']);
  });

  it('emits a token before its score, also where several blocks are scored at once', async () => {
    const late: TokenScorer = {
      push: async ([token]) =>
        token?.id === 105
          ? Array.from({ length: 6 }, (_, index) => ({ index, scores: {}, skipped: [], rival: null }))
          : [],
      finish: async () => [],
      passOver: async () => [],
      close: () => {},
    };
    const events: string[] = [];
    source
      .pipe(score({ open: async () => late, block: BLOCK, gate }))
      .subscribe((event) => events.push(write(event)));
    await send(0, 1, 2, 3, 4, 5);
    expect(events).toEqual(['t0', 't1', 't2', 's0', 's1', 's2', 't3', 's3', 't4', 's4', 't5', 's5']);
  });

  it('scores one block after the other', async () => {
    await send(0, 1, 2, 3);
    expect(scorer.pushed).toEqual([[100, 101]]);
    await scorer.answer();
    expect(scorer.pushed).toEqual([
      [100, 101],
      [102, 103],
    ]);
  });

  it('holds the gate while scoring is two blocks behind', async () => {
    await send(0, 1, 2);
    expect(await isOpen()).toBe(true);
    await send(3);
    expect(await isOpen()).toBe(false);
    await scorer.answer();
    expect(await isOpen()).toBe(true);
  });

  it('scores the rest of the last block before it is done', async () => {
    await send(0);
    source.next(done);
    source.complete();
    await send();
    expect(log).toEqual(['t0']);
    await scorer.answer();
    expect(log).toEqual(['t0', 's0', 'done', 'complete']);
    expect(scorer.closed).toBe(true);
  });

  it('ends with an error, and cancels the source, when scoring fails: never with tokens that look clean', async () => {
    await send(0, 1);
    await scorer.fail(new Error('no'));
    expect(log).toEqual(['t0', 't1', 'error no']);
    expect(source.observed).toBe(false);
    expect(scorer.closed).toBe(true);
  });

  it('scores what is left when the source completes without saying done', async () => {
    await send(0);
    source.complete();
    await send();
    await scorer.answer();
    expect(log).toEqual(['t0', 's0', 'complete']);
    expect(scorer.closed).toBe(true);
  });

  it('leaves the gate open when its subscriber takes a few events and leaves', async () => {
    const events: string[] = [];
    const other = new ManualScorer();
    const taken = source.pipe(score({ open: async () => other, block: 1, gate }), take(2));
    unsubscribe();
    taken.subscribe((event) => events.push(write(event)));
    await send(0, 1, 2, 3);
    expect(events).toEqual(['t0', 't1']);
    expect(await isOpen()).toBe(true);
    expect(other.closed).toBe(true);
  });

  it('passes on an error of the source', async () => {
    await send(0);
    source.error(new Error('gone'));
    expect(log).toEqual(['t0', 'error gone']);
  });

  it('lets go of everything when it is unsubscribed', async () => {
    await send(0, 1, 2, 3);
    unsubscribe();
    await send();
    expect(source.observed).toBe(false);
    expect(scorer.closed).toBe(true);
    expect(await isOpen()).toBe(true);
  });

  it('ends with an error when a source ignores the gate for too long', async () => {
    await send(...Array.from({ length: 64 * BLOCK + 1 }, (_, i) => i));
    expect(log.at(-1)).toMatch(/error score: the source is 64 blocks ahead/);
  });

  it('ends with an error when the scorer cannot be opened', async () => {
    const errors: string[] = [];
    const open = () => Promise.reject(new Error('no process'));
    source
      .pipe(score({ open, block: BLOCK, gate }))
      .subscribe({ error: (error: Error) => errors.push(error.message) });
    await send(0);
    expect(errors).toEqual(['no process']);
  });
});

describe('score with lagTokens', () => {
  /** A block may wait beside the one that is scored. */
  beforeEach(() => {
    unsubscribe();
    log = [];
    const begins = (text: string): boolean => text === 'begins';
    const open = async () => scorer;
    source.pipe(score({ open, block: BLOCK, gate, begins, lagTokens: BLOCK })).subscribe({
      next: (event) => log.push(write(event)),
      error: (error: Error) => log.push(`error ${error.message}`),
      complete: () => log.push('complete'),
    });
  });

  const end = async (): Promise<void> => {
    source.next(done);
    source.complete();
    await send();
  };

  it('emits every token at once and never holds the gate', async () => {
    const indices = Array.from({ length: 1000 }, (_, i) => i);
    for (const i of [0, 2]) await send(i, i + 1);
    await send(...indices.slice(4));
    expect(log).toEqual(indices.map((i) => `t${i}`));
    expect(await isOpen()).toBe(true);
  });

  it('passes over whole blocks, the most certain first, and scores the others in order', async () => {
    await send(0, 1);
    for (const [i, logprob] of [-0.1, -0.1, -5, -0.1, -1, -1].entries()) source.next(token(2 + i, logprob));
    await send();
    await scorer.answer();
    expect(log.slice(8)).toEqual(['s0', 's1', 'lag2', 'lag3']);
    await scorer.answer();
    expect(log.slice(12)).toEqual(['s4', 's5', 'lag6', 'lag7']);
    expect(scorer.pushed).toEqual([
      [100, 101],
      [104, 105],
    ]);
  });

  it('scores all of them where scoring keeps up', async () => {
    for (const i of [0, 1, 2]) {
      await send(2 * i, 2 * i + 1);
      await scorer.answer();
    }
    await send(6);
    await end();
    await scorer.answer();
    const block = (i: number): string[] => [`t${i}`, `t${i + 1}`, `s${i}`, `s${i + 1}`];
    expect(log).toEqual([...[0, 2, 4].flatMap(block), 't6', 's6', 'done', 'complete']);
  });

  it('passes on what is beside the text in its place', async () => {
    await send(0, 1);
    await send(2, 3, 4);
    source.next({ type: 'upstream.delta', at: 5, chunk: {}, unscored: [] });
    await send(5);
    expect(log).toEqual(['t0', 't1', 't2', 't3', 't4', 'upstream.delta', 't5']);
  });

  it('ends a block before a token that begins', async () => {
    await send(0);
    source.next({ ...token(1), text: 'begins' });
    await send();
    await scorer.answer();
    expect(scorer.pushed).toEqual([[100]]);
    expect(log).toEqual(['t0', 't1', 's0']);
  });

  it('waits at the end for no more than the pass that runs and those that may wait', async () => {
    await send(0, 1);
    await send(2, 3, 4, 5, 6);
    await end();
    await scorer.answer();
    expect(log.slice(7)).toEqual(['s0', 's1', 'lag2', 'lag3', 'lag4', 'lag5']);
    await scorer.answer();
    expect(log.slice(13)).toEqual(['s6', 'done', 'complete']);
  });

  it('passes over what waits once the end has waited long enough', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    await send(0, 1);
    await send(2, 3, 4);
    await end();
    clock.mockReturnValue(END_WAIT_MS);
    await scorer.answer();
    expect(log.slice(5)).toEqual(['s0', 's1', 'lag2', 'lag3', 'lag4', 'done', 'complete']);
    expect(scorer.pushed).toEqual([[100, 101]]);
  });

  it('ends with an error when scoring fails', async () => {
    await send(0, 1, 2, 3);
    await scorer.fail(new Error('no'));
    expect(log.at(-1)).toBe('error no');
    expect(source.observed).toBe(false);
  });
});
