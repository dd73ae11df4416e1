import { from, lastValueFrom, tap } from 'rxjs';
import { expect, it } from 'vitest';
import { Models } from '#gateway/answers/models.js';
import { CHAT_FORM } from '#gateway/http/choice-form.js';
import { Completion } from '#gateway/http/completion.js';
import { GenerationObserver } from '#gateway/metrics/generation-observer.js';
import { Metrics } from '#gateway/metrics/metrics.js';
import { logprobScorer } from '#gateway/upstream/scoring/logprob-scores.js';
import { branchOf } from '#src/guard/branch.js';
import { guardedBranch } from '#src/guard/guarded-branch.js';
import { DEFAULT_GUARD, DEFAULT_SCORING, type FlowGate, RunningRisk, type TokenEvent } from '#src/index.js';
import { doneEvent } from '../../support/events.js';
import { heap } from '../../support/heap.js';
import { scriptedAnswer } from '../../support/scripted-model.js';

const TOKENS = 30_000;
/** From here on everything that has a fixed size is there. */
const SETTLED = 10_000;
/** Of a token that is kept, its event and that of its score alone take several hundred. */
const MOST_BYTES = 60;

const token = (index: number): TokenEvent => ({
  type: 'token.delta',
  index,
  id: index,
  text: index % 12 === 11 ? ' end.\n' : ` word${index}`,
  logprob: -0.5,
  topLogprobs: [
    { id: index, text: ` word${index}`, logprob: -0.5 },
    { id: null, text: ` other${index}`, logprob: -1.5 },
  ],
});

async function* written(gate: FlowGate, marks: number[]) {
  for (let index = 0; index < TOKENS; index++) {
    if (!gate.open) await gate.opened();
    if (index === SETTLED) marks.push(await heap());
    yield token(index);
  }
  marks.push(await heap());
  yield doneEvent('stop', TOKENS);
}

/** Bytes that a streamed answer keeps of each token. */
async function keptPerToken(): Promise<number> {
  const marks: number[] = [];
  const { guard } = scriptedAnswer(() => from([]));
  const completion = new Completion({
    form: CHAT_FORM,
    id: 'c',
    model: 'm',
    vocabulary: null,
    guard: { ...guard, enabled: true },
    logprobs: false,
    includeUsage: false,
    comes: 'scored',
  });
  const writer = {
    promptTokens: 1,
    written: 0,
    tokens: (gate: FlowGate) => from(written(gate, marks)),
    fits: () => true,
    fork: async () => Promise.reject(new Error('not asked for')),
    close: () => {},
  };
  const scoring = { ...DEFAULT_SCORING, methods: ['nll' as const] };
  const judging = {
    scoring,
    guard: { ...DEFAULT_GUARD, method: 'nll' as const },
    risks: new RunningRisk(),
    seed: 1,
  };
  let sent = 0;
  const done = await lastValueFrom(
    guardedBranch(async (judge) => branchOf(writer, logprobScorer(['nll']), judge), judging).pipe(
      tap((event) => {
        sent += completion.chunks(event).length;
      }),
    ),
  );
  expect(done).toMatchObject({ type: 'generation.done', verdict: { steps: TOKENS / 12, unscoredTokens: 0 } });
  expect(sent).toBeGreaterThan(TOKENS);
  const [before = 0, after = 0] = marks;
  return (after - before) / (TOKENS - SETTLED);
}

it('a streamed answer keeps next to nothing of the tokens that were sent', async () => {
  const bytes = await keptPerToken();
  expect(bytes).toBeLessThan(MOST_BYTES);
});

it('metrics keep nothing of the tokens of an answer that nobody scores', async () => {
  const metrics = new Metrics();
  metrics.watch({
    models: new Models([{ name: 'm', status: () => ({ ready: true }), source: () => Promise.reject() }]),
    generations: () => 0,
    connections: () => ({ http: 0, websocket: 0 }),
  });
  const guard = { method: 'nll', action: 'annotate', held: false, scored: false } as const;
  const observed = { responseId: 'r', beganMs: 0, ...guard } as const;
  const clock = { now: () => 0, date: () => 0 };
  const observer = new GenerationObserver(metrics.of('m'), observed, clock);
  const before = await heap();
  // What else is kept meanwhile, such as compiled code, is little for each of so many.
  const many = 20 * TOKENS;
  for (let index = 0; index < many; index++) observer.event(token(index));
  expect(((await heap()) - before) / many).toBeLessThan(5);
  observer.event(doneEvent('stop', many));
});
