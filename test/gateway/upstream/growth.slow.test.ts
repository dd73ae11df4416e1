import { beforeAll, expect, it } from 'vitest';
import { Assembly } from '#gateway/http/assemble.js';
import { CHAT_FORM } from '#gateway/http/choice-form.js';
import { Completion } from '#gateway/http/completion.js';
import { ResponseEvents } from '#gateway/http/response-events.js';
import { WholeCompletion } from '#gateway/http/whole-completion.js';
import { parse } from '#gateway/requests/generation-request.js';
import { responseSchema } from '#gateway/requests/response-request.js';
import { IdAlignment } from '#gateway/upstream/alignment/id-alignment.js';
import { TokenAligner } from '#gateway/upstream/alignment/token-aligner.js';
import { JoinedParts } from '#gateway/upstream/wire/joined-parts.js';
import { openCheckpoint } from '#src/index.js';
import { TokenSteps } from '#src/steps/token-steps.js';
import type { Tokenizer } from '#src/tokenizer/tokenizer.js';
import { doneEvent, tokenEvent } from '../../support/events.js';
import { checkpointFolder } from '../../support/golden.js';
import { growthOf, MOST_GROWTH } from '../../support/growth.js';
import { scriptedAnswer } from '../../support/scripted-model.js';

/** What an upstream chooses in number takes so much time for each, also where that is little beside the rest. */
const OTHER_MS = 4;

type Json = Readonly<Record<string, unknown>>;

let tokenizer: Tokenizer;
let end: number;
beforeAll(async () => {
  const checkpoint = await openCheckpoint(checkpointFolder('tiny-llama'));
  tokenizer = checkpoint.tokenizer;
  end = checkpoint.eosTokenIds[0]!;
});

const never = () => {
  throw new Error('not started');
};

const upstream = (chunk: Json) => ({ type: 'upstream.delta', at: 0, chunk, unscored: [] }) as const;
const inChoice = (delta: Json): Json => ({ choices: [{ index: 0, delta }] });

const assembled = (shape: (i: number) => Json) => (count: number) => {
  const assembly = new Assembly();
  for (let i = 0; i < count; i++) assembly.add(shape(i));
  expect(assembly.choices).toHaveLength(1);
};

const token = (text: string, bytes?: readonly number[]) => ({
  id: null,
  text,
  logprob: -1,
  topLogprobs: [],
  ...(bytes && { bytes }),
});
type Said = Partial<Parameters<TokenAligner['push']>[0]>;
const aligned = (shape: (i: number) => Said, lags: boolean) => (count: number) => {
  const aligner = new TokenAligner({ lags });
  const nothing = { text: '', tokens: null, ids: null, parts: [], written: null, finishReason: null };
  for (let i = 0; i < count; i++) aligner.push({ ...nothing, ...shape(i) });
  aligner.end();
};
const ALIGNED: Readonly<Record<string, (i: number) => Said>> = {
  'tokens without text': () => ({ tokens: [token('w')] }),
  'empty tokens': () => ({ tokens: [token('')] }),
  'empty tokens, and a text at times': (i) => ({ tokens: [token('')], text: i % 2 === 0 ? '' : 'w' }),
  'tokens longer than the text': () => ({ tokens: [token('wwwwwwwwwwww')], text: 'w' }),
  'texts of the first of many tokens': (i) =>
    i % 2 === 0 ? { tokens: Array(9).fill(token('w')) } : { text: 'w' },
  'parts of a character': () => ({ tokens: [token('\ufffd', [0xf0])] }),
  'tokens of a call': (i) => ({ tokens: [token('{')], parts: [{ kind: 'tool_calls', text: '{', call: i }] }),
  'tokens of a reasoning, and empty ones': () => ({
    tokens: [token('w'), token('')],
    parts: [{ kind: 'reasoning', text: 'w' }],
  }),
};

const steps = (texts: readonly string[]) => (count: number) => {
  const steps = new TokenSteps();
  for (let i = 0; i < count; i++) for (const text of texts) steps.push(text);
  steps.end();
};

const options = {
  id: 'c',
  model: 'm',
  vocabulary: null,
  form: CHAT_FORM,
  guard: scriptedAnswer(never).guard,
  logprobs: true,
  includeUsage: true,
};

it.each<[string, number, (count: number) => void]>([
  [
    'parts of calls',
    3000,
    assembled((i) => inChoice({ tool_calls: [{ index: i % 2, function: { arguments: 'x' } }] })),
  ],
  ['calls', 1000, assembled((i) => inChoice({ tool_calls: [{ index: i }] }))],
  ['calls in the opposite order', 1000, assembled((i) => inChoice({ tool_calls: [{ index: -i }] }))],
  [
    'calls with the same index',
    1000,
    assembled((i) => inChoice({ tool_calls: [{ index: 0, id: `c${i}` }] })),
  ],
  ['calls without an index', 1000, assembled((i) => inChoice({ tool_calls: [{ id: `c${i}` }] }))],
  ['items without index', 4000, assembled((i) => inChoice({ list: [i, { i }] }))],
  ['parts of a text', 4000, assembled((i) => inChoice({ text: `${i}` }))],
  ['names', 4000, assembled((i) => inChoice({ [`n${i}`]: { [`n${i}`]: i }, deep: { [`n${i}`]: i } }))],
  ['fields', 4000, assembled((i) => ({ ...inChoice({}), [`n${i}`]: i }))],
  [
    'names and indices that are counted',
    1000,
    (count) => {
      const joined = new JoinedParts();
      for (let i = 0; i < count; i++)
        joined.add({ ...inChoice({ calls: [{ index: i }], [`n${i}`]: i }), [`n${i}`]: i });
    },
  ],
  [
    'fields of a stream',
    // Below some thousands each takes half as long, whatever their number.
    8000,
    (count) => {
      const completion = new Completion(options);
      let bytes = 0;
      for (let i = 0; i < count; i++) {
        completion.chunks(upstream({ choices: [], [`n${i}`]: i }));
        for (const chunk of completion.chunks(tokenEvent(i))) bytes += JSON.stringify(chunk).length;
      }
      expect(bytes / count).toBeLessThan(2000);
    },
  ],
  [
    'tokens of a whole answer',
    2000,
    (count) => {
      const whole = new WholeCompletion(options);
      for (let i = 0; i < count; i++) whole.add(tokenEvent(i));
      whole.add(doneEvent('stop', count));
      expect(whole.json().join('').length).toBeGreaterThan(count);
    },
  ],
  [
    'tokens that come after the text of a response',
    2000,
    (count) => {
      const request = parse(responseSchema, { model: 'm', input: 'Well?' });
      const response = new ResponseEvents('resp', request, scriptedAnswer(never));
      response.push(upstream({ event: { type: 'response.created', response: {} }, choices: [] }));
      for (let i = 0; i < count; i++) response.push(tokenEvent(i));
      expect(response.push(doneEvent('stop', count))).toHaveLength(1);
    },
  ],
  [
    'ids without text',
    10_000,
    (count) => {
      const alignment = new IdAlignment(tokenizer, false);
      for (let i = 0; i < count; i++) alignment.push('', [end]);
    },
  ],
  ['words', 1000, steps([' word', ' word.', ' Word'])],
  // Up to the length that ends a step.
  ['characters without white space', 450, steps(['\u5b57'])],
  ['empty lines', 10_000, steps(['\n'])],
  ['white and empty tokens', 5000, steps([' ', ''])],
  ['empty tokens', 10_000, steps([''])],
  ...Object.entries(ALIGNED).flatMap(([name, shape]): [string, number, (count: number) => void][] => [
    [name, 8000, aligned(shape, false)],
    [`${name}, where text lags`, 8000, aligned(shape, true)],
  ]),
])('takes so much time for each of many %s', async (_, few, work) => {
  expect(await growthOf(work, few, OTHER_MS)).toBeLessThan(MOST_GROWTH);
});
