import { lastValueFrom, of, toArray } from 'rxjs';
import { expect, it } from 'vitest';
import { answer } from '#gateway/answers/answering.js';
import type { Asked } from '#gateway/answers/asked.js';
import { configSchema } from '#gateway/config/gateway-config.js';
import type { ServedModel } from '#gateway/index.js';
import { Policies } from '#gateway/policy/policies.js';
import { chatSchema, parse } from '#gateway/requests/generation-request.js';
import { type AskedGuard, guardSchema } from '#gateway/requests/guard-limits.js';
import { logprobScorer } from '#gateway/upstream/scoring/logprob-scores.js';
import { type BranchWriter, branchOf } from '#src/guard/branch.js';
import { DEFAULT_SCORING, FlowGate, type RiskModel } from '#src/index.js';
import { answeringOf, answerRequest } from '../../support/answers.js';
import { doneEvent, tokenEvent } from '../../support/events.js';

/** All that is scored is more doubtful than anything else. */
const risks: RiskModel = {
  calibrated: () => true,
  ofToken: () => 1,
  ofStep: () => 1,
  ofAnswer: () => 1,
};

const SCORED = {
  scoring: { ...guardSchema.parse({}).scoring, alpha: 1e-4, sigma: 1e-3 },
  methods: ['nll' as const],
  method: 'nll' as const,
};

const writer: BranchWriter = {
  promptTokens: 1,
  written: 1,
  tokens: () => of(tokenEvent(0, { text: '1' }), doneEvent()),
  fits: () => false,
  fork: () => Promise.reject(new Error('not asked for')),
  close: () => {},
};

/** What a model was asked for. */
interface AskedModel extends Pick<Asked, 'refusesUnscored' | 'maxTokens'> {
  readonly model: string;
  readonly guard: AskedGuard;
}

/** A model all of whose answers are flagged. */
const doubtful = (name: string, all: AskedModel[], hosts?: readonly string[]): ServedModel => ({
  name,
  hosts,
  status: () => ({ ready: true }),
  source: async ({ fields: { guard }, refusesUnscored, maxTokens }) => {
    all.push({ model: name, guard, refusesUnscored, maxTokens });
    return {
      judge: {
        settle: async (fields) => ({
          settings: { ...fields, ...SCORED },
          scoring: { ...DEFAULT_SCORING, methods: ['nll'] },
        }),
        rate: async () => ({ risks, warnings: [] }),
      },
      prepare: async () => ({
        vocabulary: null,
        promptTokens: 1,
        warnings: [],
        seed: 1,
        open: async (judging) => branchOf(writer, logprobScorer(['nll']), judging),
      }),
    };
  },
});

/** The guard and the bounds with which the answer in place of a flagged one is asked for, or why it is not. */
async function inPlace(way: 'escalate' | 'vote', { first, other = {}, key = {}, request = {} }: Row) {
  const asked: AskedModel[] = [];
  const guards = { first, other };
  const policies = new Policies(
    configSchema.parse({
      models: {
        first: {
          checkpoint: 'x',
          escalate: { to: 'other' },
          guard: { ...guards.first, defaults: { action: way, ...guards.first.defaults } },
        },
        other: { upstreams: [{ url: 'http://127.0.0.1:9/v1' }], guard: guards.other },
      },
      access: { keys: [{ name: 'web', env: 'WEB', guard: key }] },
    }),
  );
  const failures: unknown[] = [];
  const models = [doubtful('first', asked), doubtful('other', asked, ['127.0.0.1:9'])];
  const answering = answeringOf(models, {
    policies,
    limits: { prompt_characters: 1000, response_tokens: 100 },
    escalated: (_model, _to, error) => void failures.push(error),
    voted: (_model, _replaced, error) => void failures.push(error),
  });
  const messages = [{ role: 'user', content: 'x' }];
  const fields = parse(chatSchema, { model: 'first', messages, ...request });
  const { start } = await answer(answerRequest(fields, { principal: 'web' }), answering);
  await lastValueFrom(start(new FlowGate()).pipe(toArray()));
  const [, replacing] = asked;
  return { ...replacing, failure: failures.find((each) => each !== null) };
}

interface Guards {
  readonly defaults?: AskedGuard;
  readonly locked?: readonly string[] | 'all';
  readonly bounds?: object;
  readonly unscored?: 'refuse' | 'pass';
}

interface Row {
  readonly first: Guards;
  /** Policies of the other model, and of the key. */
  readonly other?: Guards;
  readonly key?: Guards;
  readonly request?: object;
}

const refuses = { refusesUnscored: true };

/** What a policy promises about what the client gets. */
const PROMISES: readonly (readonly [what: string, row: Row, held: object])[] = [
  ['no text without a score', { first: { unscored: 'refuse' } }, refuses],
  ['the same of a key', { first: {}, key: { unscored: 'refuse' } }, refuses],
  ['the same by a lock', { first: { locked: ['action'] } }, refuses],
  ['more than the other one', { first: { unscored: 'refuse' }, other: { unscored: 'pass' } }, refuses],
  [
    'that it is judged',
    { first: { locked: ['enabled'] }, other: { defaults: { enabled: false } } },
    { ...refuses, guard: expect.not.objectContaining({ enabled: false }) },
  ],
  [
    'that it is judged, whatever the other locks',
    { first: { unscored: 'refuse' }, other: { defaults: { enabled: false }, locked: ['enabled'] } },
    { ...refuses, guard: expect.not.objectContaining({ enabled: false }) },
  ],
  [
    'by which scores',
    {
      first: { defaults: { methods: ['nll'], method: 'nll' }, locked: ['methods', 'method'] },
      other: { defaults: { methods: ['entropy'], method: 'entropy' } },
    },
    { guard: { methods: ['nll'], method: 'nll' } },
  ],
  [
    'at which rate',
    { first: { defaults: { rate: 0.3, per: 'answer' }, locked: 'all' }, other: { defaults: { rate: 0.1 } } },
    { guard: { rate: 0.3, per: 'answer' } },
  ],
  [
    'how it is computed',
    {
      first: { defaults: { scoring: { block: 8 } }, locked: ['scoring'] },
      other: { defaults: { scoring: { block: 32, window: 64 } } },
    },
    { guard: { scoring: { block: 8 } } },
  ],
  [
    'that no more is done than this',
    {
      first: { bounds: { min_rate: 0.05, max_rollbacks: 1, max_candidates: 2 } },
      other: { defaults: { rate: 0.01, max_rollbacks: 9, candidates: 9 } },
    },
    { guard: { rate: 0.05, max_rollbacks: 1, candidates: 2 } },
  ],
  ['at most so many tokens', { first: {} }, { maxTokens: 100 }],
];

it.each(
  PROMISES.flatMap((promise) => (['escalate', 'vote'] as const).map((way) => [way, ...promise] as const)),
)('with %s, a policy keeps its promise: %s', async (way, _, row, held) => {
  const { failure, model, ...asked } = await inPlace(way, row);
  expect(failure).toBeUndefined();
  expect(model).toBe(way === 'escalate' ? 'other' : 'first');
  expect(asked).toMatchObject(held);
});

it('another model gets no field that the policy of the request keeps from servers', async () => {
  const row = { first: { locked: ['rate'] as const }, request: { hide_logprobs: true } };
  expect(await inPlace('escalate', row)).toMatchObject({
    failure: { body: { code: 'policy_violation', param: 'hide_logprobs' } },
  });
  const open = await inPlace('escalate', { ...row, first: {} });
  expect(open).toMatchObject({ model: 'other', failure: undefined });
});

it('what both models lock is as the one has it that answers', async () => {
  const locked = (rate: number): Guards => ({ defaults: { rate }, locked: ['rate'] });
  expect(await inPlace('escalate', { first: locked(0.3), other: locked(0.01) })).toMatchObject({
    guard: { rate: 0.01 },
  });
  // Only how it is replaced is the business of the first alone.
  const stop = { defaults: { action: 'stop' } } as const;
  expect(await inPlace('escalate', { first: { locked: ['action'] }, other: stop })).toMatchObject({
    guard: { action: 'stop' },
  });
});
