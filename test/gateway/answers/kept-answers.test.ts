import { setImmediate } from 'node:timers/promises';
import { from, lastValueFrom, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { answer } from '#gateway/answers/answering.js';
import { KeptAnswers } from '#gateway/answers/kept-answers.js';
import { PerClient } from '#gateway/answers/per-client.js';
import type { Answer } from '#gateway/answers/served-model.js';
import { CHAT_COMPLETIONS } from '#gateway/http/chat-completions.js';
import { RESPONSES } from '#gateway/http/responses-route.js';
import { answered } from '#gateway/http/said-guard.js';
import type { ServedModel } from '#gateway/index.js';
import { chatSchema, parse } from '#gateway/requests/generation-request.js';
import { logprobJudge } from '#gateway/upstream/scoring/logprob-judge.js';
import { logprobScorer } from '#gateway/upstream/scoring/logprob-scores.js';
import { type BranchWriter, branchOf } from '#src/guard/branch.js';
import { FlowGate, type GuardEvent, RunningRisk } from '#src/index.js';
import { answeringOf, answerRequest } from '../../support/answers.js';
import { doneEvent, tokenEvent } from '../../support/events.js';
import { heap } from '../../support/heap.js';

const MIB = 1 << 20;
const LIMIT = 4 * MIB;

/** As vLLM sends them for `top_logprobs: 2`. */
const token = (index: number) =>
  tokenEvent(index, {
    text: index % 12 === 11 ? ' end.\n' : ` word${index}`,
    topLogprobs: [
      { id: null, text: ` word${index}`, logprob: -0.5 },
      { id: null, text: ` other${index}`, logprob: -1.5 },
    ],
  });

/** The most that the heap held while one wrote; 0 where nobody wants to know. */
let peak = 0;

async function* writing(tokens: number, gate: FlowGate) {
  for (let index = 0; index < tokens; index++) {
    if (!gate.open) await gate.opened();
    if (index % 1000 === 0) await setImmediate();
    if (peak > 0 && index % 2500 === 2499) peak = Math.max(peak, await heap());
    yield token(index);
  }
  yield doneEvent('stop', tokens);
}

/** As many tokens as are asked for. */
const writer = (tokens: number): BranchWriter => ({
  promptTokens: 1,
  written: 0,
  tokens: (gate) => from(writing(tokens, gate)),
  fits: () => true,
  fork: async () => Promise.reject(new Error('not asked for')),
  close: () => {},
});

/** A model whose texts may be continued from any of their tokens. */
const model: ServedModel = {
  name: 'm',
  status: () => ({ ready: true }),
  source: async ({ fields }) => ({
    judge: logprobJudge(['nll'], new PerClient(() => new RunningRisk())),
    prepare: async (guarding) => ({
      vocabulary: null,
      promptTokens: 1,
      warnings: [],
      seed: 1,
      open: async (judging) =>
        branchOf(writer(fields.max_tokens ?? 1), logprobScorer(guarding ? ['nll'] : []), judging),
    }),
  }),
};

/** One gateway for all of a test: what is kept of its answers is bounded by {@link LIMIT}. */
function serving() {
  const { observe } = new KeptAnswers(LIMIT);
  const answering = answeringOf([model], { observe: [observe] });
  return async (tokens: number, guard: object, kept: boolean, client = 'a'): Promise<Answer> => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'x' }], max_tokens: tokens, guard };
    const how = { canRetract: false, kept, client };
    return answer(answerRequest(parse(chatSchema, body), how), answering);
  };
}

const OFF = { enabled: false };
const TOO_LARGE = {
  status: 400,
  body: { code: 'answer_too_large', message: expect.stringContaining('limits.kept_bytes') },
};

const endOf = (answer: Answer) => lastValueFrom(answer.start(new FlowGate())).catch((error) => error);

/** What an answer ends with, and how much the heap has grown meanwhile. */
async function untilItEnds(answer: Answer, keep: (event: GuardEvent) => void = () => {}) {
  const before = await heap();
  peak = before;
  let events = 0;
  const start: Answer['start'] = (gate) =>
    answer.start(gate).pipe(
      tap((event) => {
        keep(event);
        events += 1;
      }),
    );
  const end = await endOf({ ...answer, start });
  const growth = peak - before;
  peak = 0;
  return { end, events, growth };
}

const wholeAnswers = {
  '/v1/chat/completions': () =>
    CHAT_COMPLETIONS.read({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
  '/v1/responses, streamed': () => RESPONSES.read({ model: 'm', input: 'x', stream: true }),
};

describe('an answer of a million tokens', () => {
  it.each(Object.entries(wholeAnswers))('of %s ends before it fills the heap', async (_name, read) => {
    const request = read();
    expect(request.kept).toBe(true);
    const answer = await serving()(1_000_000, OFF, request.kept);
    const encoding = request.encode(answered(answer), { id: 'a', idPrefix: 'p', tell: () => {} });
    let offset = 0;
    const { end, events, growth } = await untilItEnds(answer, (event) => {
      offset += encoding.event(event, offset).length;
    });
    expect(end).toMatchObject(TOO_LARGE);
    expect(events).toBeGreaterThan(5000);
    expect(growth).toBeLessThan(LIMIT);
  });

  it('that a guard may roll back ends without a verdict', async () => {
    const { end, events, growth } = await untilItEnds(
      await serving()(1_000_000, { action: 'rollback', delivery: 'held', rate: 1e-9 }, false),
    );
    expect(end).toMatchObject(TOO_LARGE);
    expect(events).toBeGreaterThan(5000);
    expect(growth).toBeLessThan(LIMIT);
  });

  it('that is streamed comes to its end', async () => {
    const { end, growth } = await untilItEnds(await serving()(30_000, OFF, false));
    expect(end).toMatchObject({ type: 'generation.done' });
    expect(growth).toBeLessThan(MIB / 2);
  });
});

it('the largest answer makes room for the others', async () => {
  const prepare = serving();
  const small = Array.from({ length: 4 }, async () => endOf(await prepare(1000, OFF, true)));
  const [large, ...others] = await Promise.all([endOf(await prepare(1_000_000, OFF, true)), ...small]);
  expect(large).toMatchObject(TOO_LARGE);
  for (const end of others) expect(end).toMatchObject({ type: 'generation.done' });
});

it('many answers of one client make room for a larger one of another', async () => {
  const prepare = serving();
  const many = Array.from({ length: 8 }, async () => endOf(await prepare(3000, OFF, true, 'many')));
  const [other, ...ends] = await Promise.all([endOf(await prepare(4000, OFF, true, 'other')), ...many]);
  expect(other).toMatchObject({ type: 'generation.done' });
  expect(ends.find(({ status }) => status === 400)).toMatchObject(TOO_LARGE);
});

it('what was sent of a held answer makes room', async () => {
  const prepare = serving();
  const end = await endOf(await prepare(15_000, { action: 'stop', delivery: 'held', rate: 1e-9 }, false));
  expect(end).toMatchObject({ type: 'generation.done' });
});

it('answers that are over take nothing', async () => {
  const prepare = serving();
  for (let n = 0; n < 3; n++) {
    expect(await endOf(await prepare(6000, OFF, true))).toMatchObject({ type: 'generation.done' });
  }
});
