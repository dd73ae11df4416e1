import { Subject } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { type GuardEvent, laterScores, type TokenScorer } from '#src/index.js';
import type { Scored } from '#src/stream/score.js';

const token = (index: number): GuardEvent => ({
  type: 'token.delta',
  index,
  id: index,
  text: `t${index}`,
  logprob: -1,
  topLogprobs: [],
});
const first = (index: number): GuardEvent => ({
  type: 'score.delta',
  index,
  pass: 'stream',
  scores: { nll: index },
  skipped: [],
  pending: ['adversarial'],
  rival: null,
  risk: { nll: 0.5 },
});
const stepDone = (step: number, from: number, to: number): GuardEvent => ({
  type: 'step.done',
  step,
  from,
  to,
  text: '',
  method: 'nll',
  score: 1,
  risk: 0.5,
  calibrated: true,
  flagged: false,
});
const done: GuardEvent = {
  type: 'generation.done',
  finishReason: 'stop',
  usage: { promptTokens: 1, completionTokens: 2 },
};

/** Passes that run when they are let. */
class Passes implements TokenScorer {
  readonly ids: (number | null)[] = [];
  readonly close = vi.fn();
  #waiting: Scored[] = [];
  #released: Promise<void>;
  release = (): void => {};

  constructor() {
    this.#released = new Promise((resolve) => {
      this.release = resolve;
    });
  }

  async push(tokens: readonly { readonly id: number | null }[]): Promise<readonly Scored[]> {
    for (const { id } of tokens) {
      const index = this.ids.push(id) - 1;
      this.#waiting.push({ index, scores: { adversarial: 10 * index }, skipped: [], rival: null });
    }
    return [];
  }

  async finish(): Promise<readonly Scored[]> {
    await this.#released;
    return this.#waiting.splice(0);
  }

  async passOver(): Promise<readonly Scored[]> {
    throw new Error('nothing is passed over');
  }
}

function open(afterSteps: boolean, block = 2) {
  const passes = new Passes();
  const source = new Subject<GuardEvent>();
  const events: GuardEvent[] = [];
  const ended = vi.fn();
  const subscription = source
    .pipe(laterScores<GuardEvent>({ open: async () => passes, block, afterSteps }))
    .subscribe({ next: (event) => events.push(event), complete: ended, error: ended });
  return { passes, source, events, ended, subscription };
}

const settle = () => new Promise((resolve) => setTimeout(resolve));
const told = (events: readonly GuardEvent[]) =>
  events.map((event) => ('index' in event ? `${event.type} ${event.index}` : event.type));

describe('laterScores', () => {
  it('passes everything at once, and tells all scores of a token when its pass has run', async () => {
    const { passes, source, events, ended } = open(false);
    for (const event of [token(0), first(0), token(1), first(1), done]) source.next(event);
    source.complete();
    await settle();
    expect(told(events)).toEqual([
      'token.delta 0',
      'score.delta 0',
      'token.delta 1',
      'score.delta 1',
      'text.done',
    ]);
    expect(events.at(-1)).toEqual({ ...done, type: 'text.done' });
    expect(ended).not.toHaveBeenCalled();
    passes.release();
    await settle();
    expect(told(events.slice(5))).toEqual(['score.delta 0', 'score.delta 1', 'generation.done']);
    expect(events[6]).toEqual({
      type: 'score.delta',
      index: 1,
      pass: 'stream',
      scores: { nll: 1, adversarial: 10 },
      skipped: [],
      rival: null,
      risk: { nll: 0.5 },
    });
    expect(ended).toHaveBeenCalledWith();
    expect(passes.close).toHaveBeenCalled();
  });

  it('says no end of the text where nothing follows it', async () => {
    const { passes, source, events } = open(false);
    passes.release();
    for (const event of [token(0), first(0), token(1), first(1)]) source.next(event);
    await settle();
    source.next(done);
    source.complete();
    await settle();
    expect(told(events)).not.toContain('text.done');
    expect(events.at(-1)).toBe(done);
  });

  it('gives passes no token that may be retracted', async () => {
    const { passes, source, events } = open(true, 1);
    passes.release();
    for (const event of [token(0), first(0), stepDone(0, 0, 1), token(1), first(1)]) source.next(event);
    await settle();
    expect(passes.ids).toEqual([0]);
    const again: GuardEvent = { ...token(1), id: 7 } as GuardEvent;
    for (const event of [{ type: 'token.retracted', from: 1, tokens: 1 } as const, again, first(1)])
      source.next(event);
    source.next(done);
    source.complete();
    await settle();
    expect(passes.ids).toEqual([0, 7]);
    expect(told(events).slice(-3)).toEqual(['text.done', 'score.delta 1', 'generation.done']);
  });

  it('ends with the error of a pass, also after the text', async () => {
    const { passes, source, events, ended } = open(false);
    const error = new Error('no more');
    passes.finish = async () => {
      throw error;
    };
    for (const event of [token(0), first(0), done]) source.next(event);
    source.complete();
    await settle();
    expect(told(events).at(-1)).toBe('text.done');
    expect(ended).toHaveBeenCalledWith(error);
  });

  it('closes the scorer when its reader leaves', async () => {
    const { passes, source, subscription } = open(false);
    source.next(token(0));
    subscription.unsubscribe();
    await settle();
    expect(passes.close).toHaveBeenCalled();
    expect(source.observed).toBe(false);
  });
});
