import { from, lastValueFrom, tap } from 'rxjs';
import { expect, it } from 'vitest';
import { logprobScorer } from '#gateway/upstream/scoring/logprob-scores.js';
import { branchOf } from '#src/guard/branch.js';
import { guardedBranch } from '#src/guard/guarded-branch.js';
import { DEFAULT_GUARD, DEFAULT_SCORING, RunningRisk } from '#src/index.js';
import { doneEvent, tokenEvent } from '../support/events.js';

it('a long step that was held back is passed on in several turns of the event loop', async () => {
  const call = Array.from({ length: 2000 }, (_, i) => tokenEvent(i, { part: 'tool_calls', call: 0 }));
  const writer = {
    promptTokens: 1,
    written: 0,
    tokens: () => from([...call, doneEvent('stop', call.length)]),
    fits: () => true,
    fork: () => Promise.reject(new Error('not asked for')),
    close: () => {},
  };
  const guarded = guardedBranch(async (judge) => branchOf(writer, logprobScorer(['nll']), judge), {
    scoring: { ...DEFAULT_SCORING, methods: ['nll'] },
    guard: { ...DEFAULT_GUARD, method: 'nll', delivery: 'held' },
    risks: new RunningRisk(),
    seed: 1,
  });
  let [tokens, turn, most] = [0, 0, 0];
  const done = await lastValueFrom(
    guarded.pipe(
      tap((event) => {
        if (event.type === 'token.delta') tokens += 1;
        if (turn === 0) {
          setImmediate(() => {
            turn = 0;
          });
        }
        turn += 1;
        most = Math.max(most, turn);
      }),
    ),
  );
  expect(done).toMatchObject({ type: 'generation.done', verdict: { steps: 1 } });
  expect(tokens).toBe(call.length);
  expect(most).toBeLessThan(1000);
});
