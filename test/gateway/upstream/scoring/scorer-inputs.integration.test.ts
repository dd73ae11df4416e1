import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { GuardInForce } from '#gateway/answers/served-model.js';
import { chatSchema, parse } from '#gateway/requests/generation-request.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import {
  DEFAULT_METHODS,
  DEFAULT_SCORING,
  Engine,
  FlowGate,
  type GuardEvent,
  modelId,
  SequenceScorer,
  StepAligner,
} from '#src/index.js';
import { answerOf } from '../../../support/answers.js';
import { useFolder } from '../../../support/cli.js';
import { EngineUpstream, type EngineUpstreamOptions } from '../../../support/engine-upstream.js';
import { chatBody } from '../../../support/gateway.js';
import { REASONER } from '../../../support/golden.js';
import { upstreamConfig } from '../../../support/upstream-server.js';

const folder = useFolder();
/** Writes, and scores what it writes. */
let engine: Engine;
beforeAll(async () => {
  engine = await Engine.open(readsTools(folder.path('tools')));
  await engine.start();
});
afterAll(() => engine.close());

/** The embedded model with a template that shows tools. */
function readsTools(target: string): string {
  const CONFIG = 'tokenizer_config.json';
  mkdirSync(target);
  for (const name of readdirSync(REASONER)) {
    if (name !== CONFIG) symlinkSync(join(REASONER, name), join(target, name));
  }
  const config = z
    .looseObject({ chat_template: z.string() })
    .parse(JSON.parse(readFileSync(join(REASONER, CONFIG), 'utf8')));
  const shown =
    "{%- if tools %}{{- '<|im_start|>system\\n' + (tools | tojson) + '<|im_end|>\\n' }}{%- endif %}";
  writeFileSync(
    join(target, CONFIG),
    JSON.stringify({ ...config, chat_template: shown + config.chat_template }),
  );
  return target;
}

/** What the model says of a request, and what it says of the guard. */
async function scored(
  upstream: EngineUpstreamOptions,
  changes: object,
): Promise<{ readonly events: readonly GuardEvent[]; readonly guard: GuardInForce }> {
  const server = await EngineUpstream.start(engine, upstream);
  const scorer = await Scorer.open(engine, { logger: pino({ level: 'silent' }) });
  const model = openUpstreamModel('m', upstreamConfig([server.url]), { scorer });
  onTestFinished(async () => {
    await model.close();
    await server.close();
  });
  const guard = { lag: 'wait', methods: [...DEFAULT_METHODS] };
  const request = parse(chatSchema, chatBody({ max_tokens: 24, guard, ...changes }));
  const { guard: inForce, start } = await answerOf(model, request);
  const events = await lastValueFrom(start(new FlowGate()).pipe(toArray()));
  return { events, guard: inForce };
}

const ofType = <Type extends GuardEvent['type']>(events: readonly GuardEvent[], type: Type) =>
  events.filter((event): event is Extract<GuardEvent, { type: Type }> => event.type === type);

const DIALECTS: readonly [string, EngineUpstreamOptions][] = [
  ['ids and log-probabilities', { tokenIds: true, logprobs: true }],
  ['log-probabilities alone', { logprobs: true }],
  ['text alone', {}],
];

const TOOL = { type: 'function', function: { name: 'add', parameters: { type: 'object', properties: {} } } };

describe('a request with tools', () => {
  it.each(DIALECTS)('is scored after a prompt that shows them: %s', async (_, upstream) => {
    const { events, guard } = await scored(upstream, { tools: [TOOL] });
    const { chatTemplate, tokenizer } = engine.checkpoint;
    const rendered = chatTemplate.render(chatBody().messages, {
      addGenerationPrompt: true,
      variables: { tools: [TOOL] },
    });
    expect(rendered).toContain('"add"');
    const promptIds = tokenizer.encode(rendered);
    expect(events.at(-1)).toMatchObject({ usage: { promptTokens: promptIds.length } });

    const aligner = new StepAligner();
    const alone = await SequenceScorer.open(engine, promptIds, DEFAULT_SCORING);
    const tokens = ofType(events, 'token.delta');
    const expected = [
      ...(await alone.push(
        tokens.map((token) => ({ id: modelId(token), begins: aligner.begins(token.text) })),
      )),
      ...(await alone.finish()),
    ];
    alone.close();
    expect(expected.length).toBeGreaterThan(20);
    const scores = ofType(events, 'score.delta').toSorted((a, b) => a.index - b.index);
    for (const [i, { scores: own }] of expected.entries()) {
      expect(scores[i]!.scores.adversarial).toBeCloseTo(own.adversarial!, 4);
      expect(scores[i]!.scores.nll).toBeCloseTo(own.nll!, 4);
    }
    expect(ofType(events, 'scorer.mismatch')).toEqual([]);
    const unverified = (guard.warnings ?? []).some((warning) => warning.includes('ids of the prompt'));
    expect(unverified).toBe(!upstream.tokenIds);
  });

  it.each([
    ['tools that are not to be called', { tools: [TOOL], tool_choice: 'none' }, true],
    ['a format', { response_format: { type: 'json_object' } }, true],
    ['a text', { response_format: { type: 'text' }, tools: [] }, false],
  ])('says that its prompt is not verified: %s', async (_, changes, expected) => {
    const { guard } = await scored({ logprobs: true }, changes);
    const unverified = (guard.warnings ?? []).some((warning) => warning.includes('ids of the prompt'));
    expect(unverified).toBe(expected);
  });
});

describe('a request with an image', () => {
  const content = [
    { type: 'text', text: 'What is 12 + 30 - 5?' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  ];

  it.each(DIALECTS)('is passed on and not scored by the scorer: %s', async (_, upstream) => {
    const { events, guard } = await scored(upstream, {
      messages: [{ role: 'user', content }],
      guard: { method: 'adversarial' },
    });
    expect(guard.warnings).toContainEqual(
      expect.stringMatching(/^unscored: the scorer does not see the prompt/),
    );
    expect(ofType(events, 'token.delta').length).toBeGreaterThan(5);
    const scores = ofType(events, 'score.delta');
    expect(scores.length).toBeGreaterThan(0);
    for (const { scores: own, missing } of scores) {
      expect(own.adversarial).toBeUndefined();
      expect(missing).toContain('adversarial');
    }
    for (const { score, risk, flagged } of ofType(events, 'step.done')) {
      expect({ score, risk, flagged }).toEqual({ score: null, risk: null, flagged: false });
    }
    expect(events.at(-1)).toMatchObject({ type: 'generation.done' });
  });
});

it.each([
  { chat_template: '{{ messages }}' },

  { add_generation_prompt: false },
])('a prompt that the request renders itself is not scored against the template: %j', async (changes) => {
  const { events, guard } = await scored(
    { logprobs: true },
    { ...changes, guard: { method: 'adversarial' } },
  );
  expect(guard.warnings).toContainEqual(
    expect.stringMatching(/^unscored: the scorer does not see the prompt/),
  );
  for (const { scores } of ofType(events, 'score.delta')) expect(scores.adversarial).toBeUndefined();
  expect(events.at(-1)).toMatchObject({ verdict: { flagged: null } });
});

it.each(DIALECTS)('two choices: the first is scored, the other is named as not: %s', async (_, upstream) => {
  const one = await scored(upstream, {});
  const two = await scored(upstream, { n: 2 });
  const textOf = ({ events }: typeof one) => ofType(events, 'token.delta').map(({ text }) => text);
  expect(textOf(two)).toEqual(textOf(one));
  const scoresOf = ({ events }: typeof one) =>
    ofType(events, 'score.delta').map(({ index, scores }) => [index, scores.adversarial]);
  expect(scoresOf(two)).toEqual(scoresOf(one));
  const unscored = ({ events }: typeof one) =>
    ofType(events, 'upstream.delta').flatMap(({ unscored }) => unscored);
  expect(new Set(unscored(two))).toEqual(new Set(['choices']));
  expect(unscored(one)).toEqual([]);
});
