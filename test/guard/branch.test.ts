import { concatMap, firstValueFrom, identity, type Observable, of, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  type BranchScorer,
  type BranchWriter,
  branchOf,
  type Continuation,
  type DoneEvent,
  FlowGate,
  type GenerationEvent,
  type TokenEvent,
  type WrittenEvent,
} from '#src/index.js';

const token = (index: number, text: string): TokenEvent => ({
  type: 'token.delta',
  index,
  id: index,
  text,
  logprob: -1,
  topLogprobs: [],
});

/** Says what is done with it; `texts` are its own tokens, the first at index `from`. */
function writerOf(log: string[], texts: readonly string[], from = 0, fails = false): BranchWriter {
  const done: DoneEvent = {
    type: 'generation.done',
    finishReason: 'stop',
    usage: { promptTokens: 3, completionTokens: from + texts.length },
  };
  return {
    promptTokens: 3,
    written: texts.length,
    tokens: () => of(...texts.map((text, i) => token(from + i, text)), done),
    fits: (keep) => keep < 4,
    fork: async (kept, { from: keep, seed }) => {
      log.push(`writer forks after "${kept.map(({ text }) => text).join('')}" with seed ${seed}`);
      if (fails) throw new Error('the server is gone');
      return writerOf(log, ['x'], keep);
    },
    close: () => log.push(`writer ${from} closes`),
  };
}

/** The score of each token is its index. */
function scorerOf(log: string[], from = 0): BranchScorer {
  const scored = (event: WrittenEvent): GenerationEvent[] => {
    if (event.type !== 'token.delta') return [event];
    const { index } = event;
    const scores = { nll: index };
    return [event, { type: 'score.delta', index, pass: 'stream', scores, skipped: [], rival: null }];
  };
  return {
    score: (scoring) => {
      log.push(`scores from ${scoring.from}`);
      return concatMap(scored);
    },
    fork: async (keep) => {
      log.push(`scorer forks after ${keep}`);
      return scorerOf(log, keep);
    },
    close: () => log.push(`scorer ${from} closes`),
  };
}

const UNJUDGED = { rate: identity, judge: () => identity };
const again: Continuation = { step: 0, from: 1, seed: 7 };

const read = async (events: Observable<unknown>) => firstValueFrom(events.pipe(toArray()));

describe('branchOf', () => {
  it('has the tokens of its writer, the scores of its scorer, and the room that its writer has', async () => {
    const log: string[] = [];
    const branch = branchOf(writerOf(log, ['a', 'b']), scorerOf(log), UNJUDGED);
    const events = await read(branch.events(new FlowGate()));
    expect(events).toMatchObject([
      { type: 'token.delta', text: 'a' },
      { type: 'score.delta', index: 0, scores: { nll: 0 } },
      { type: 'token.delta', text: 'b' },
      { type: 'score.delta', index: 1, scores: { nll: 1 } },
      { type: 'generation.done' },
    ]);
    expect([branch.promptTokens, branch.written]).toEqual([3, 2]);
    expect([branch.fits(3), branch.fits(4)]).toEqual([true, false]);
  });

  it('is continued by forks of both, the scorer first, and says only what is new', async () => {
    const log: string[] = [];
    const branch = branchOf(writerOf(log, ['a', 'b']), scorerOf(log), UNJUDGED);
    await read(branch.events(new FlowGate()));
    const fork = await branch.fork(again);
    expect(await read(fork.events(new FlowGate()))).toMatchObject([
      { type: 'token.delta', index: 1, text: 'x' },
      { type: 'score.delta', index: 1 },
      { type: 'generation.done', usage: { completionTokens: 2 } },
    ]);
    fork.close();
    expect(log).toEqual([
      'scores from 0',
      'scorer forks after 1',
      'writer forks after "a" with seed 7',
      'scores from 1',
      'writer 1 closes',
      'scorer 1 closes',
    ]);
  });

  it('closes the fork of the scorer if the writer cannot be forked, and stays open itself', async () => {
    const log: string[] = [];
    const branch = branchOf(writerOf(log, ['a'], 0, true), scorerOf(log), UNJUDGED);
    await read(branch.events(new FlowGate()));
    await expect(branch.fork(again)).rejects.toThrow('the server is gone');
    expect(log.slice(-2)).toEqual(['writer forks after "a" with seed 7', 'scorer 1 closes']);
  });
});
