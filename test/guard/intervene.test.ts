import { concat, lastValueFrom, NEVER, type Observable, of, take, throwError, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  type Branch,
  type Continuation,
  type GuardEvent,
  type Intervention,
  intervene,
  lowestUncertainty,
  type Policy,
} from '#src/index.js';

/** Steps of a scripted branch: a word, and the scores of its tokens; those above 0.5 are flagged. */
type Script = readonly string[];

const stepOf = (line: string): { readonly text: string; readonly scores: readonly number[] } => {
  const [word, ...scores] = line.split(' ');
  return { text: `${word} `, scores: scores.map(Number) };
};

interface BranchPoint {
  readonly from?: number;
  readonly step?: number;
  readonly finish?: Observable<GuardEvent>;
}

/** In place of a script: the continuation cannot be opened. */
class Lost extends Error {}

/** A branch that says what its script says, and remembers what was asked of it. */
class ScriptedBranch implements Branch {
  static open = 0;
  readonly promptTokens = 5;
  readonly written: number;
  readonly #from: number;
  readonly #step: number;
  readonly #script: Script;
  readonly #fork: (continuation: Continuation) => Script;
  readonly #finish: Observable<GuardEvent> | undefined;
  #closed = false;

  constructor(
    script: Script,
    fork: (continuation: Continuation) => Script = () => [],
    { from = 0, step = 0, finish }: BranchPoint = {},
  ) {
    ScriptedBranch.open += 1;
    this.#script = script;
    this.#fork = fork;
    this.#from = from;
    this.#step = step;
    this.#finish = finish;
    this.written = script.flatMap((line) => stepOf(line).scores).length;
  }

  events(): Observable<GuardEvent> {
    const events: GuardEvent[] = [];
    const closed: GuardEvent[] = [];
    let index = this.#from;
    for (const [i, { text, scores }] of this.#script.map(stepOf).entries()) {
      const from = index;
      for (const [k, score] of scores.entries()) {
        const word = k === 0 ? text : '';
        events.push({ type: 'token.delta', index, id: index, text: word, logprob: -score, topLogprobs: [] });
        // The step before is known to be over once there is a later token.
        events.push(...closed.splice(0));
        const rated = { scores: { nll: score }, skipped: [], rival: null, risk: { nll: score } };
        events.push({ type: 'score.delta', index, pass: 'stream', ...rated });
        index += 1;
      }
      const score = Math.max(...scores);
      const rating = { method: 'nll', score, risk: score, calibrated: true, flagged: score > 0.5 } as const;
      closed.push({ type: 'step.done', step: this.#step + i, from, to: index, text, ...rating });
    }
    const usage = { promptTokens: 5, completionTokens: index };
    const done: GuardEvent = { type: 'generation.done', finishReason: 'stop', usage };
    return concat(of(...events), this.#finish ?? of(...closed, done));
  }

  async fork(continuation: Continuation): Promise<ScriptedBranch> {
    expect(this.#closed).toBe(false);
    const { step, from } = continuation;
    return new ScriptedBranch(this.#fork(continuation), this.#fork, { step, from });
  }

  fits(keep: number): boolean {
    return keep < 20;
  }

  close(): void {
    if (!this.#closed) ScriptedBranch.open -= 1;
    this.#closed = true;
  }
}

const guarded = (root: Branch, policy: Policy): Observable<GuardEvent> =>
  of(root).pipe(intervene({ policy, seed: 1, dispensable: (error) => error instanceof Lost }));

const rollback = (changes: Partial<Extract<Intervention, { action: 'rollback' }>> = {}): Policy => {
  return (_, { interventions }) =>
    interventions > 0
      ? { action: 'annotate' }
      : { action: 'rollback', candidates: 2, choose: lowestUncertainty, ...changes };
};

/** The text as a client ends with that applies retractions. */
function finalText(events: readonly GuardEvent[]): string {
  const tokens: string[] = [];
  for (const event of events) {
    if (event.type === 'token.retracted') {
      expect(tokens.length - event.from).toBe(event.tokens);
      tokens.length = event.from;
    }
    if (event.type !== 'token.delta') continue;
    expect(event.index).toBe(tokens.length);
    tokens.push(event.text);
  }
  return tokens.join('');
}

const kinds = (events: readonly GuardEvent[]) =>
  events.map(({ type }) => type).filter((type) => !['token.delta', 'score.delta'].includes(type));

const WRONG: Script = ['A. 0.1 0.2', 'B. 0.3 0.9', 'C. 0.1'];

describe('intervene', () => {
  it('passes a response on whose steps are clear', async () => {
    const script: Script = ['A. 0.1 0.2', 'B. 0.3'];
    const events = await collect(new ScriptedBranch(script), () => ({ action: 'stop' }));
    expect(finalText(events)).toBe('A. B. ');
    expect(kinds(events)).toEqual(['step.done', 'step.done', 'generation.done']);
    expect(events.at(-1)).toMatchObject({
      finishReason: 'stop',
      usage: { promptTokens: 5, completionTokens: 3, generatedTokens: 3 },
    });
  });

  it('says which step is flagged, and goes on', async () => {
    const events = await collect(new ScriptedBranch(WRONG), () => ({ action: 'annotate' }));
    expect(finalText(events)).toBe('A. B. C. ');
    expect(kinds(events)).toEqual(['step.done', 'step.flagged', 'step.done', 'step.done', 'generation.done']);
    expect(events.find(({ type }) => type === 'step.flagged')).toMatchObject({
      step: 1,
      from: 2,
      to: 4,
      score: 0.9,
      action: 'annotate',
    });
  });

  it('stops at the flagged step', async () => {
    const events = await collect(new ScriptedBranch(WRONG), () => ({ action: 'stop' }));
    expect(kinds(events)).toEqual(['step.done', 'step.flagged', 'generation.done']);
    // One more token had been written when the step was known to be over.
    expect(events.at(-1)).toMatchObject({ finishReason: 'content_filter', usage: { completionTokens: 5 } });
  });

  it('replaces the step by its best candidate, and goes on from there', async () => {
    const asked: Continuation[] = [];
    const root = new ScriptedBranch(WRONG, (continuation) => {
      asked.push(continuation);
      if (asked.length === 1) return ['worse. 0.8 0.8', 'x 0'];
      if (asked.length === 2) return ['better. 0.2 0.1 0.3', 'y 0', 'z 0'];
      return ['D. 0.4'];
    });
    const events = await collect(root, rollback({ temperature: 0.7 }));
    expect(finalText(events)).toBe('A. better. D. ');
    expect(kinds(events)).toEqual([
      'step.done',
      'step.flagged',
      'rollback.started',
      'token.retracted',
      'rollback.done',
      'step.done',
      'step.done',
      'generation.done',
    ]);
    expect(events.find(({ type }) => type === 'rollback.done')).toMatchObject({
      rollback: 0,
      step: 1,
      outcome: 'replaced',
      chosen: 2,
      candidates: [
        { text: 'B. ', tokens: 2, score: 0.6 },
        { text: 'worse. ', tokens: 2, score: 0.8 },
        { text: 'better. ', tokens: 3, score: expect.closeTo(0.2) },
      ],
    });
    expect(asked.map(({ step, from, temperature }) => ({ step, from, temperature }))).toEqual([
      { step: 1, from: 2, temperature: 0.7 },
      { step: 1, from: 2, temperature: 0.7 },
      { step: 2, from: 5, temperature: undefined },
    ]);
    expect(new Set(asked.map(({ seed }) => seed)).size).toBe(3);
    expect(events.filter(({ type }) => type === 'step.done')).toMatchObject([
      { step: 0, from: 0, to: 2 },
      { step: 1, from: 2, to: 5 },
      { step: 2, from: 5, to: 6 },
    ]);
    expect(events.at(-1)).toMatchObject({ usage: { completionTokens: 6, generatedTokens: 5 + 3 + 5 + 1 } });
  });

  it('keeps the step if no candidate is better, or the best has the same text', async () => {
    for (const script of [['worse. 0.95 0.8'], ['B. 0.1']] satisfies Script[]) {
      const events = await collect(new ScriptedBranch(WRONG, () => script), rollback());
      expect(finalText(events)).toBe('A. B. C. ');
      expect(kinds(events)).toContain('rollback.done');
      expect(kinds(events)).not.toContain('token.retracted');
      expect(events.find(({ type }) => type === 'rollback.done')).toMatchObject({ outcome: 'kept' });
    }
  });

  it.each([
    ['a candidate', [1], 'A. better. D. ', 2],
    ['all candidates', [1, 2], 'A. B. C. ', 1],
    ['what follows the chosen one', [3], 'A. B. C. ', 3],
  ])('does without a continuation that is dispensable: %s', async (_, lost, text, candidates) => {
    ScriptedBranch.open = 0;
    let forks = 0;
    const root = new ScriptedBranch(WRONG, () => {
      forks += 1;
      if (lost.includes(forks)) throw new Lost();
      return forks > 2 ? ['D. 0.4'] : ['better. 0.1', 'y 0'];
    });
    const events = await collect(root, rollback());
    expect(finalText(events)).toBe(text);
    const done = events.find((event) => event.type === 'rollback.done')!;
    expect(done.candidates).toHaveLength(candidates);
    if (text === 'A. B. C. ') {
      expect(done).toMatchObject({ outcome: 'kept', chosen: 0 });
      expect(kinds(events)).not.toContain('token.retracted');
    }
    expect(ScriptedBranch.open).toBe(0);
  });

  it('keeps the step where nothing can follow the chosen candidate', async () => {
    const root = new ScriptedBranch(WRONG, () => [`long.${' 0.1'.repeat(18)}`, 'y 0']);
    const events = await collect(root, rollback());
    expect(finalText(events)).toBe('A. B. C. ');
    expect(events.find(({ type }) => type === 'rollback.done')).toMatchObject({ outcome: 'kept', chosen: 0 });
  });

  it('asks for no more once one has failed', async () => {
    let asked = 0;
    const doubtful: Script = ['A. 0.9', 'B. 0.9', 'C. 0.9'];
    const root = new ScriptedBranch(doubtful, () => {
      asked += 1;
      throw new Lost();
    });
    const events = await collect(root, () => ({
      action: 'rollback',
      candidates: 2,
      choose: lowestUncertainty,
    }));
    expect(finalText(events)).toBe('A. B. C. ');
    expect(asked).toBe(2);
    const actions = events.flatMap((event) => (event.type === 'step.flagged' ? event.action : []));
    expect(actions).toEqual(['rollback', 'annotate', 'annotate']);
  });

  it('fails with what any other continuation fails with', async () => {
    const root = new ScriptedBranch(WRONG, () => {
      throw new Error('out of memory');
    });
    await expect(collect(root, rollback())).rejects.toThrow('out of memory');
  });

  it('leaves a step as it is that the branch cannot go on from', async () => {
    const root = new ScriptedBranch(WRONG, () => ['x 0']);
    root.fits = () => false;
    const events = await collect(root, rollback());
    expect(finalText(events)).toBe('A. B. C. ');
    expect(events.find(({ type }) => type === 'step.flagged')).toMatchObject({ action: 'annotate' });
  });

  it('ends where the chosen candidate ended', async () => {
    const events = await collect(new ScriptedBranch(WRONG, () => ['end. 0.1']), rollback());
    expect(finalText(events)).toBe('A. end. ');
    expect(events.at(-1)).toMatchObject({ finishReason: 'stop', usage: { completionTokens: 3 } });
  });

  it('takes a candidate without a token last', async () => {
    const events = await collect(new ScriptedBranch(WRONG, () => []), rollback());
    expect(finalText(events)).toBe('A. B. C. ');
    const empty = await collect(new ScriptedBranch(WRONG, () => []), rollback({ choose: () => 1 }));
    expect(finalText(empty)).toBe('A. ');
    expect(empty.at(-1)?.type).toBe('generation.done');
  });

  it('closes every branch, however it ends', async () => {
    ScriptedBranch.open = 0;
    const fork = () => ['better. 0.1', 'y 0'] satisfies Script;
    const all = await collect(new ScriptedBranch(WRONG, fork), rollback());
    expect(ScriptedBranch.open).toBe(0);
    for (let count = 1; count < all.length; count++) {
      await lastValueFrom(guarded(new ScriptedBranch(WRONG, fork), rollback()).pipe(take(count)));
      await new Promise((resolve) => setImmediate(resolve));
      expect(ScriptedBranch.open).toBe(0);
    }
    const failing = new ScriptedBranch(WRONG, fork, { finish: throwError(() => new Error('lost')) });
    await expect(collect(failing, () => ({ action: 'annotate' }))).rejects.toThrow('lost');
    const endless = guarded(new ScriptedBranch(WRONG, fork, { finish: NEVER }), rollback()).subscribe();
    endless.unsubscribe();
    await new Promise((resolve) => setImmediate(resolve));
    expect(ScriptedBranch.open).toBe(0);
  });

  it('fails if the policy does, or chooses what is not there', async () => {
    await expect(
      collect(new ScriptedBranch(WRONG), () => {
        throw new Error('no policy');
      }),
    ).rejects.toThrow('no policy');
    const fork = () => ['x 0.1'] satisfies Script;
    await expect(collect(new ScriptedBranch(WRONG, fork), rollback({ choose: () => 7 }))).rejects.toThrow(
      'choose: 7 is not one of 3 candidates',
    );
  });
});

const collect = (root: Branch, policy: Policy): Promise<GuardEvent[]> =>
  lastValueFrom(guarded(root, policy).pipe(toArray()));
