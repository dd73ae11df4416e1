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
  type SpikePolicy,
} from '#src/index.js';

/** Steps of a scripted branch, each with the scores of its tokens; those above 0.5 are flagged. */
type Script = readonly (readonly [text: string, ...scores: number[]])[];

interface Place {
  readonly from?: number;
  readonly step?: number;
  /** A step that what was kept turns out to be. */
  readonly early?: { readonly step: number; readonly from: number; readonly to: number };
  readonly finish?: Observable<GuardEvent>;
  /** Whether scores above 0.5 are spikes. */
  readonly spikes?: boolean;
  /** Whether a step is known to be over only after the score of the next token. */
  readonly late?: boolean;
  /** Whether the score of a token comes only after the next token. */
  readonly behind?: boolean;
}

/** A branch that says what its script says, and remembers what was asked of it. */
/** In place of a script: the continuation cannot be opened. */
class Lost extends Error {}

class ScriptedBranch implements Branch {
  static open = 0;
  readonly promptTokens = 5;
  readonly written: number;
  readonly #from: number;
  readonly #step: number;
  readonly #script: Script;
  readonly #fork: (continuation: Continuation) => Script;
  readonly #finish: Observable<GuardEvent> | undefined;
  readonly #early: Place['early'];
  readonly #spikes: boolean;
  readonly #late: boolean;
  readonly #behind: boolean;
  #closed = false;

  constructor(
    script: Script,
    fork: (continuation: Continuation) => Script = () => [],
    { from = 0, step = 0, finish, early, spikes = false, late = false, behind = false }: Place = {},
  ) {
    ScriptedBranch.open += 1;
    this.#script = script;
    this.#fork = fork;
    this.#from = from;
    this.#step = step;
    this.#finish = finish;
    this.#early = early;
    this.#spikes = spikes;
    this.#late = late;
    this.#behind = behind;
    this.written = script.flatMap(([, ...scores]) => scores).length;
  }

  events(): Observable<GuardEvent> {
    const events: GuardEvent[] = [];
    const closed: GuardEvent[] = [];
    const waiting: GuardEvent[] = [];
    let index = this.#from;
    if (this.#early) {
      const rating = { method: 'nll', score: 0.1, risk: 0.1, calibrated: true, flagged: false } as const;
      events.push({ type: 'step.done', ...this.#early, text: 'B. ', ...rating });
    }
    for (const [i, [text, ...scores]] of this.#script.entries()) {
      const from = index;
      for (const [k, score] of scores.entries()) {
        const word = k === 0 ? text : '';
        events.push({ type: 'token.delta', index, id: index, text: word, logprob: -score, topLogprobs: [] });
        events.push(...waiting.splice(0));
        // The step before is known to be over once there is a later token.
        if (!this.#late) events.push(...closed.splice(0));
        const rated = { scores: { nll: score }, skipped: [], rival: null, risk: { nll: score } };
        const about = this.#behind ? waiting : events;
        about.push({ type: 'score.delta', index, pass: 'stream', ...rated });
        if (this.#spikes && score > 0.5)
          about.push({ type: 'spike.detected', index, method: 'nll', score, risk: score, calibrated: true });
        events.push(...closed.splice(0));
        index += 1;
      }
      const score = Math.max(...scores);
      const rating = { method: 'nll', score, risk: score, calibrated: true, flagged: score > 0.5 } as const;
      closed.push({ type: 'step.done', step: this.#step + i, from, to: index, text, ...rating });
    }
    const usage = { promptTokens: 5, completionTokens: index };
    const done: GuardEvent = { type: 'generation.done', finishReason: 'stop', usage };
    return concat(of(...events), this.#finish ?? of(...waiting, ...closed, done));
  }

  async fork(continuation: Continuation): Promise<ScriptedBranch> {
    expect(this.#closed).toBe(false);
    const { keep, step, from } = continuation;
    const early = from < keep ? { step, from, to: keep } : undefined;
    const like = { spikes: this.#spikes, late: this.#late, behind: this.#behind };
    const place = { from: keep, step: early ? step + 1 : step, ...(early && { early }), ...like };
    return new ScriptedBranch(this.#fork(continuation), this.#fork, place);
  }

  fits(keep: number, insert: string): boolean {
    return keep + insert.length < 20;
  }

  close(): void {
    if (!this.#closed) ScriptedBranch.open -= 1;
    this.#closed = true;
  }
}

const guarded = (root: Branch, policy: Policy): Observable<GuardEvent> =>
  of(root).pipe(intervene({ policy, seed: 1, dispensable: (error) => error instanceof Lost }));

const rollback = (changes: Partial<Extract<Intervention, { action: 'rollback' }>> = {}): Policy => {
  return (step, { interventions }) =>
    interventions > 0
      ? { action: 'annotate' }
      : { action: 'rollback', from: step.from, candidates: 2, choose: lowestUncertainty, ...changes };
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

const WRONG: Script = [
  ['A. ', 0.1, 0.2],
  ['B. ', 0.3, 0.9],
  ['C.', 0.1],
];

describe('intervene', () => {
  it('passes a response on whose steps are clear', async () => {
    const script: Script = [
      ['A. ', 0.1, 0.2],
      ['B.', 0.3],
    ];
    const events = await collect(new ScriptedBranch(script), () => ({ action: 'stop' }));
    expect(finalText(events)).toBe('A. B.');
    expect(kinds(events)).toEqual(['step.done', 'step.done', 'generation.done']);
    expect(events.at(-1)).toMatchObject({
      finishReason: 'stop',
      usage: { promptTokens: 5, completionTokens: 3, generatedTokens: 3 },
    });
  });

  it('says which step is flagged, and goes on', async () => {
    const events = await collect(new ScriptedBranch(WRONG), () => ({ action: 'annotate' }));
    expect(finalText(events)).toBe('A. B. C.');
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
      if (asked.length === 1)
        return [
          ['worse. ', 0.8, 0.8],
          ['x', 0],
        ];
      if (asked.length === 2)
        return [
          ['better. ', 0.2, 0.1, 0.3],
          ['y', 0],
          ['z', 0],
        ];
      return [['D.', 0.4]];
    });
    const events = await collect(root, rollback({ temperature: 0.7 }));
    expect(finalText(events)).toBe('A. better. D.');
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
    expect(asked.map(({ keep, step, from, temperature }) => ({ keep, step, from, temperature }))).toEqual([
      { keep: 2, step: 1, from: 2, temperature: 0.7 },
      { keep: 2, step: 1, from: 2, temperature: 0.7 },
      { keep: 5, step: 2, from: 5, temperature: undefined },
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
    for (const script of [[['worse. ', 0.95, 0.8]], [['B. ', 0.1]]] satisfies Script[]) {
      const events = await collect(new ScriptedBranch(WRONG, () => script), rollback());
      expect(finalText(events)).toBe('A. B. C.');
      expect(kinds(events)).toContain('rollback.done');
      expect(kinds(events)).not.toContain('token.retracted');
      expect(events.find(({ type }) => type === 'rollback.done')).toMatchObject({ outcome: 'kept' });
    }
  });

  it.each([
    ['a candidate', [1], 'A. better. D.', 2],
    ['all candidates', [1, 2], 'A. B. C.', 1],
    ['what follows the chosen one', [3], 'A. B. C.', 3],
  ])('does without a continuation that is dispensable: %s', async (_, lost, text, candidates) => {
    ScriptedBranch.open = 0;
    let forks = 0;
    const root = new ScriptedBranch(WRONG, () => {
      forks += 1;
      if (lost.includes(forks)) throw new Lost();
      return forks > 2
        ? [['D.', 0.4]]
        : [
            ['better. ', 0.1],
            ['y', 0],
          ];
    });
    const events = await collect(root, rollback());
    expect(finalText(events)).toBe(text);
    const done = events.find((event) => event.type === 'rollback.done')!;
    expect(done.candidates).toHaveLength(candidates);
    if (text === 'A. B. C.') {
      expect(done).toMatchObject({ outcome: 'kept', chosen: 0 });
      expect(kinds(events)).not.toContain('token.retracted');
    }
    expect(ScriptedBranch.open).toBe(0);
  });

  it('keeps the step where nothing can follow the chosen candidate', async () => {
    const root = new ScriptedBranch(WRONG, () => [
      ['long. ', ...Array<number>(18).fill(0.1)],
      ['y', 0],
    ]);
    const events = await collect(root, rollback());
    expect(finalText(events)).toBe('A. B. C.');
    expect(events.find(({ type }) => type === 'rollback.done')).toMatchObject({ outcome: 'kept', chosen: 0 });
  });

  it.each([
    [
      ({ from }) => ({ action: 'rollback', from, candidates: 2, choose: lowestUncertainty }),
      ['rollback', 'annotate', 'annotate'],
      2,
    ],
    [() => ({ action: 'reflect', text: 'Wait. ' }), ['reflect', 'annotate', 'annotate'], 1],
  ] satisfies [Policy, string[], number][])(
    'asks for no more once one has failed: %o',
    async (policy, actions, most) => {
      let asked = 0;
      const doubtful: Script = [
        ['A. ', 0.9],
        ['B. ', 0.9],
        ['C. ', 0.9],
      ];
      const root = new ScriptedBranch(doubtful, () => {
        asked += 1;
        throw new Lost();
      });
      const events = await collect(root, policy);
      expect(finalText(events)).toBe('A. B. C. ');
      expect(asked).toBe(most);
      expect(events.flatMap((event) => (event.type === 'step.flagged' ? event.action : []))).toEqual(actions);
    },
  );

  it('does without a check that cannot be asked for', async () => {
    const root = new ScriptedBranch(WRONG, () => {
      throw new Lost();
    });
    const events = await collect(root, () => ({ action: 'reflect', text: 'Wait. ' }));
    expect(finalText(events)).toBe('A. B. C.');
    expect(kinds(events)).not.toContain('token.retracted');
  });

  it('fails with what any other continuation fails with', async () => {
    const root = new ScriptedBranch(WRONG, () => {
      throw new Error('out of memory');
    });
    await expect(collect(root, rollback())).rejects.toThrow('out of memory');
  });

  it('leaves a step as it is that the branch cannot go on from', async () => {
    const root = new ScriptedBranch(WRONG, () => [['x', 0]]);
    root.fits = () => false;
    const events = await collect(root, rollback());
    expect(finalText(events)).toBe('A. B. C.');
    expect(events.find(({ type }) => type === 'step.flagged')).toMatchObject({ action: 'annotate' });
  });

  it('draws anew from a token within the step', async () => {
    const root = new ScriptedBranch(WRONG, ({ keep }) => [[`from ${keep}.`, 0.1]]);
    const events = await collect(root, (step, context) => rollback({ from: 3 })(step, context));
    expect(finalText(events)).toBe('A. B. from 3.');
  });

  it('ends where the chosen candidate ended', async () => {
    const events = await collect(new ScriptedBranch(WRONG, () => [['end.', 0.1]]), rollback());
    expect(finalText(events)).toBe('A. end.');
    expect(events.at(-1)).toMatchObject({ finishReason: 'stop', usage: { completionTokens: 3 } });
  });

  it('takes a candidate without a token last', async () => {
    const events = await collect(new ScriptedBranch(WRONG, () => []), rollback());
    expect(finalText(events)).toBe('A. B. C.');
    const empty = await collect(new ScriptedBranch(WRONG, () => []), rollback({ choose: () => 1 }));
    expect(finalText(empty)).toBe('A. ');
    expect(empty.at(-1)?.type).toBe('generation.done');
  });

  it('puts a request to check after the step', async () => {
    const asked: Continuation[] = [];
    const root = new ScriptedBranch(WRONG, (continuation) => {
      asked.push(continuation);
      return [
        ['Wait. ', 0.1],
        ['D.', 0.1],
      ];
    });
    const events = await collect(root, () => ({ action: 'reflect', text: 'Wait. ' }));
    expect(finalText(events)).toBe('A. B. Wait. D.');
    expect(asked).toMatchObject([{ keep: 4, step: 2, from: 4, insert: 'Wait. ' }]);
    expect(kinds(events)).toEqual([
      'step.done',
      'step.flagged',
      'token.retracted',
      'step.done',
      'step.done',
      'step.done',
      'generation.done',
    ]);
  });

  it('asks for no check that leaves no room to answer', async () => {
    const events = await collect(new ScriptedBranch(WRONG), () => ({
      action: 'reflect',
      text: 'W'.repeat(30),
    }));
    expect(finalText(events)).toBe('A. B. C.');
    expect(events.find(({ type }) => type === 'step.flagged')).toMatchObject({ action: 'annotate' });
  });

  it('takes what stays of a step and what follows it for one step, where a candidate ends it early', async () => {
    const root = new ScriptedBranch(WRONG, ({ keep }) => {
      return keep === 3
        ? [
            ['better ', 0.1],
            ['unread', 0.1],
          ]
        : [['D.', 0.1]];
    });
    const events = await collect(root, (step, context) =>
      rollback({ from: 3, choose: () => 1 })(step, context),
    );
    expect(finalText(events)).toBe('A. B. better D.');
    expect(events.filter(({ type }) => type === 'step.done')).toMatchObject([
      { step: 0, from: 0, to: 2 },
      { step: 1, from: 2, to: 4, text: 'B. better ' },
      { step: 2, from: 4, to: 5 },
    ]);
  });

  it('stops at a spike, wherever it is in its step', async () => {
    const events = await onSpikes(
      [
        ['A. ', 0.1],
        ['B. ', 0.3, 0.9, 0.1],
        ['C.', 0.1],
      ],
      () => ({ action: 'stop' }),
    );
    expect(kinds(events)).toEqual(['step.done', 'spike.detected', 'generation.done']);
    expect(events.at(-2)).toMatchObject({ type: 'spike.detected', index: 2, action: 'stop' });
    expect(events.at(-1)).toMatchObject({ finishReason: 'content_filter', usage: { completionTokens: 3 } });
  });

  const LONG: Script = [
    ['A. ', 0.1],
    ['B. ', 0.3, 0.9, 0.7],
    ['C.', 0.1],
  ];

  it('draws the rest of a step anew from a spike on, and the step is judged as one', async () => {
    const asked: Continuation[] = [];
    const events = await onSpikes(LONG, redraw, (continuation) => {
      asked.push(continuation);
      return continuation.keep === 2
        ? [
            ['better ', 0.2],
            ['unread', 0.8],
          ]
        : [['D.', 0.1]];
    });
    expect(finalText(events)).toBe('A. B. better D.');
    expect(kinds(events)).toEqual([
      'step.done',
      'spike.detected',
      'rollback.started',
      'token.retracted',
      'rollback.done',
      'step.done',
      'step.done',
      'generation.done',
    ]);
    // The third token of the step is never shown: it came after the spike.
    expect(events.find(({ type }) => type === 'token.retracted')).toMatchObject({ from: 2, tokens: 1 });
    expect(events.find(({ type }) => type === 'rollback.done')).toMatchObject({
      step: 1,
      chosen: 1,
      candidates: [
        { text: 'B. ', tokens: 2, score: expect.closeTo(0.8) },
        { tokens: 1, score: expect.closeTo(0.2) },
        { tokens: 1, score: expect.closeTo(0.2) },
      ],
    });
    expect(asked.map(({ keep, step, from }) => [keep, step, from])).toEqual([
      [2, 1, 1],
      [2, 1, 1],
      [3, 2, 3],
    ]);
    expect(events.filter(({ type }) => type === 'step.done')).toMatchObject([
      { step: 0, from: 0, to: 1 },
      { step: 1, from: 1, to: 3 },
      { step: 2, from: 3, to: 4 },
    ]);
  });

  it('shows the rest of the step if it is kept, without another look at its spikes', async () => {
    const events = await onSpikes(LONG, redraw, () => [['worse ', 0.99]]);
    expect(finalText(events)).toBe('A. B. C.');
    expect(kinds(events)).toEqual([
      'step.done',
      'spike.detected',
      'rollback.started',
      'spike.detected',
      'rollback.done',
      'step.done',
      'step.done',
      'generation.done',
    ]);
    expect(events.filter(({ type }) => type === 'spike.detected')).toMatchObject([
      { index: 2, action: 'rollback' },
      { index: 3 },
    ]);
    expect(events.find(({ type }) => type === 'rollback.done')).toMatchObject({ outcome: 'kept', chosen: 0 });
    const indices = events.flatMap((event) => (event.type === 'score.delta' ? [event.index] : []));
    expect(indices).toEqual([0, 1, 2, 3, 4]);
  });

  const LATE: Script = [
    ['A. ', 0.1],
    ['B. ', 0.9, 0.1],
    ['C.', 0.8],
  ];

  it('takes the step before for a part of one whose first token is a spike', async () => {
    const root = new ScriptedBranch(LATE, () => [['worse ', 0.99]], { spikes: true, late: true });
    const events = await lastValueFrom(ofSpikes(root, redraw).pipe(toArray()));
    expect(finalText(events)).toBe('A. B. C.');
    expect(events.find(({ type }) => type === 'rollback.done')).toMatchObject({
      outcome: 'kept',
      candidates: [{ text: 'A. B. ', tokens: 2, score: expect.closeTo(0.5) }, { tokens: 1 }, { tokens: 1 }],
    });
    expect(events.filter(({ type }) => type === 'step.done')).toMatchObject([
      { step: 0, from: 0, to: 1 },
      { step: 1, from: 1, to: 3 },
      { step: 2, from: 3, to: 4 },
    ]);
    expect(kinds(events)).toEqual([
      'spike.detected',
      'rollback.started',
      'rollback.done',
      'step.done',
      'step.flagged',
      'step.done',
      // Of the next step: it was read ahead, and is asked about.
      'spike.detected',
      'step.flagged',
      'step.done',
      'generation.done',
    ]);
  });

  it('draws such a step anew, and goes on after it', async () => {
    const fork = ({ keep }: Continuation): Script =>
      keep === 1
        ? [
            ['better ', 0.2],
            ['unread', 0.1],
          ]
        : [['D.', 0.1]];
    const root = new ScriptedBranch(LATE, fork, { spikes: true, late: true });
    const events = await lastValueFrom(ofSpikes(root, redraw).pipe(toArray()));
    expect(finalText(events)).toBe('A. better D.');
    expect(events.find(({ type }) => type === 'token.retracted')).toMatchObject({ from: 1, tokens: 1 });
    expect(events.filter(({ type }) => type === 'step.done')).toMatchObject([
      { step: 0, from: 0, to: 2 },
      { step: 1, from: 2, to: 3 },
    ]);
  });

  it('does not act on a spike of a kept step that is told after a token of the next', async () => {
    const script: Script = [
      ['A. ', 0.1],
      ['B. ', 0.9, 0.1, 0.8],
      ['C.', 0.1],
    ];
    const asked: number[] = [];
    const fork = ({ keep }: Continuation): Script => {
      asked.push(keep);
      return [['worse ', 0.99]];
    };
    const root = new ScriptedBranch(script, fork, { spikes: true, behind: true });
    const always: SpikePolicy = (spike) => redraw(spike, { interventions: 0 });
    const events = await lastValueFrom(ofSpikes(root, always).pipe(toArray()));
    expect(finalText(events)).toBe('A. B. C.');
    expect(asked).toEqual([1, 1]);
    expect(events.filter(({ type }) => type === 'spike.detected')).toMatchObject([
      { index: 1, action: 'rollback' },
      { index: 3 },
    ]);
    const indices = events.flatMap((event) => (event.type === 'score.delta' ? [event.index] : []));
    expect(indices).toEqual([0, 1, 2, 3, 4]);
  });

  it('passes a spike on that nothing can follow', async () => {
    const root = new ScriptedBranch(LONG, () => [['x', 0]], { spikes: true });
    root.fits = () => false;
    const events = await lastValueFrom(ofSpikes(root, redraw).pipe(toArray()));
    expect(finalText(events)).toBe('A. B. C.');
    expect(kinds(events)).not.toContain('rollback.started');
    const spikes = events.filter(({ type }) => type === 'spike.detected');
    expect(spikes.map((event) => 'action' in event)).toEqual([false, false]);
  });

  it('closes every branch, however it ends', async () => {
    ScriptedBranch.open = 0;
    const fork = () =>
      [
        ['better. ', 0.1],
        ['y', 0],
      ] satisfies Script;
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
    const spiking = await onSpikes(LONG, redraw, fork);
    expect(ScriptedBranch.open).toBe(0);
    for (let count = 1; count < spiking.length; count++) {
      const root = new ScriptedBranch(LONG, fork, { spikes: true });
      await lastValueFrom(ofSpikes(root, redraw).pipe(take(count)));
      await new Promise((resolve) => setImmediate(resolve));
      expect(ScriptedBranch.open).toBe(0);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(ScriptedBranch.open).toBe(0);
  });

  it('fails if the policy does, or chooses what is not there', async () => {
    await expect(
      collect(new ScriptedBranch(WRONG), () => {
        throw new Error('no policy');
      }),
    ).rejects.toThrow('no policy');
    const fork = () => [['x', 0.1]] satisfies Script;
    await expect(collect(new ScriptedBranch(WRONG, fork), rollback({ choose: () => 7 }))).rejects.toThrow(
      'choose: 7 is not one of 3 candidates',
    );
  });
});

const collect = (root: Branch, policy: Policy): Promise<GuardEvent[]> =>
  lastValueFrom(guarded(root, policy).pipe(toArray()));

const redraw: SpikePolicy = ({ index }, { interventions }) =>
  interventions > 0
    ? { action: 'annotate' }
    : { action: 'rollback', from: index, candidates: 2, choose: lowestUncertainty };

const ofSpikes = (root: Branch, spikePolicy: SpikePolicy): Observable<GuardEvent> =>
  of(root).pipe(intervene({ policy: () => ({ action: 'annotate' }), spikePolicy, seed: 1 }));

/** Steps are said to be flagged by the script, and nothing is done about that: left out here. */
const onSpikes = async (
  script: Script,
  spikePolicy: SpikePolicy,
  fork?: (continuation: Continuation) => Script,
): Promise<GuardEvent[]> => {
  const root = new ScriptedBranch(script, fork, { spikes: true });
  const events = await lastValueFrom(ofSpikes(root, spikePolicy).pipe(toArray()));
  return events.filter(({ type }) => type !== 'step.flagged');
};
