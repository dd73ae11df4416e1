import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodePrompt } from '#src/index.js';
import { chatBody, post, sseData, useGateway, type WireToken } from '../../support/gateway.js';
import { QUESTION } from '../../support/requests.js';

const gateway = useGateway();
let client: OpenAI;
let ids: number[];
let prompt: string;
beforeAll(() => {
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const messages = [{ role: 'user', content: QUESTION }];
  const { checkpoint } = gateway.engine;
  ids = encodePrompt(checkpoint, messages);
  prompt = checkpoint.chatTemplate.render(messages, { addGenerationPrompt: true });
});

const body = (changes: object = {}) => ({
  model: 'reasoner',
  temperature: 0,
  max_tokens: 60,
  prompt: ids,
  ...changes,
});

async function send(fields: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${gateway.url}/v1/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(fields),
  });
}

interface Changes {
  readonly guard?: { readonly action?: string; readonly rate?: number; readonly enabled?: boolean };
  readonly [field: string]: unknown;
}

interface Whole {
  readonly choices: readonly {
    readonly text: string;
    readonly logprobs: unknown;
    readonly finish_reason: string;
  }[];
  readonly usage: unknown;
  readonly flinch: {
    readonly tokens: readonly WireToken[];
    readonly verdict?: { readonly risk: number | null };
  };
}

async function whole(fields: object): Promise<Whole> {
  const response = await send(fields);
  expect(response.status).toBe(200);
  return JSON.parse(await response.text());
}

/** What the events of a stream come to, as a client puts them together. */
async function streamed(fields: object) {
  const chunks: Whole[] = [];
  const response = await send({ ...fields, stream: true, stream_options: { include_usage: true } });
  const data: string[] = [];
  for await (const each of sseData(response)) data.push(each);
  expect(data.pop()).toBe('[DONE]');
  for (const each of data) chunks.push(JSON.parse(each));
  const tokens: Record<number, object> = {};
  for (const token of chunks.flatMap(({ flinch }) => flinch?.tokens ?? [])) tokens[token.index] = token;
  return {
    text: chunks.map(({ choices }) => choices[0]?.text ?? '').join(''),
    finish: chunks.find(({ choices }) => choices[0]?.finish_reason)?.choices[0]?.finish_reason,
    tokens: Object.values(tokens),
    verdict: chunks.find(({ flinch }) => flinch?.verdict)?.flinch.verdict,
    usage: chunks.at(-1)?.usage,
    logprobs: chunks.flatMap(({ choices }) => choices[0]?.logprobs ?? []),
  };
}

describe('a completion of a prompt', () => {
  it('has the text, the scores and the verdict of the chat with the same ids', async () => {
    const chat = await (await post(gateway.url, chatBody({ max_tokens: 60 }))).json();
    const { choices, flinch } = await whole(body());
    expect(flinch.tokens.length).toBeGreaterThan(20);
    expect(flinch.tokens.every(({ scores, skipped }) => scores ?? skipped)).toBe(true);
    expect(flinch).toEqual(chat.flinch);
    expect(choices[0]?.text).toBe(chat.choices[0].message.content);
  });

  it.each([
    ['a text', () => prompt],
    ['a list of one text', () => [prompt]],
    ['a list of one list of ids', () => [ids]],
  ])('is the same for %s', async (_, given) => {
    const { id: _id, created: _created, ...first } = JSON.parse(await (await send(body())).text());
    const { id, created: _later, ...same } = JSON.parse(await (await send(body({ prompt: given() }))).text());
    expect(id).toMatch(/^cmpl-/);
    expect(same).toEqual(first);
  });

  it.each<[string, Changes]>([
    ['guarded', {}],
    ['with log-probabilities', { logprobs: 2 }],
    ['with the guard off', { guard: { enabled: false } }],
    ['with rollbacks', { temperature: 1, seed: 4, guard: { action: 'rollback', rate: 0.9 } }],
  ])('is the same streamed and whole, %s', async (_, changes) => {
    const { choices, flinch } = await whole(body(changes));
    const parts = await streamed(body(changes));
    expect({ text: parts.text, finish: parts.finish }).toEqual({
      text: choices[0]?.text,
      finish: choices[0]?.finish_reason,
    });
    expect(parts.usage).toMatchObject({ completion_tokens: flinch.tokens.length, prompt_tokens: ids.length });
    expect(written(parts.tokens)).toEqual(written(flinch.tokens));
    // Batches of candidates differ, and so does how their sums are rounded.
    if (changes.guard?.action !== 'rollback') expect(parts.tokens).toEqual(flinch.tokens);
    const { verdict } = flinch;
    expect(parts.verdict).toEqual(verdict && { ...verdict, risk: expect.closeTo(verdict.risk ?? 0, 5) });
    expect(joined(parts.logprobs)).toEqual(choices[0]?.logprobs);
  });

  it('tells the verdict in headers', async () => {
    const response = await send(body());
    const { flinch } = await response.json();
    expect(response.headers.get('x-flinch-flagged')).toBe(String(flinch.verdict.flagged ?? 'unknown'));
  });

  it('tells log-probabilities as lists, the token itself among its alternatives', async () => {
    const { choices } = await whole(body({ max_tokens: 4, logprobs: 0 }));
    const { tokens, token_logprobs, top_logprobs, text_offset } = Object(choices[0]?.logprobs);
    expect(tokens).toHaveLength(4);
    expect(text_offset).toEqual([0, 1, 2, 3].map((n) => tokens.slice(0, n).join('').length));
    expect(top_logprobs).toEqual(tokens.map((token: string, i: number) => ({ [token]: token_logprobs[i] })));
  });

  it('has 16 tokens unless it says how many', async () => {
    const { usage } = await whole(body({ max_tokens: undefined }));
    expect(usage).toMatchObject({ completion_tokens: 16, prompt_tokens: ids.length });
  });

  it('goes on after the last event that was read', async () => {
    const response = await send(body({ stream: true, resumable: true }));
    const text = await response.text();
    const all = text.split('\n\n').filter(Boolean);
    const last = /^id: (\S+)/.exec(all[5] ?? '')?.[1] ?? '';
    const [, id] = last.split('/');
    const rest = await fetch(`${gateway.url}/v1/completions/${id}`, { headers: { 'Last-Event-ID': last } });
    expect(await rest.text()).toBe(`${all.slice(6).join('\n\n')}\n\n`);
    const chat = await fetch(`${gateway.url}/v1/chat/completions/${id}`, {
      headers: { 'Last-Event-ID': last },
    });
    expect(chat.status).toBe(400);
  });

  it.each([
    ['prompt', { prompt: ['a', 'b'] }, 'must be one prompt'],
    ['prompt', { prompt: [[1], [2]] }, 'must be one prompt'],
    ['prompt', { prompt: [] }, 'must be one prompt'],
    ['prompt', { prompt: [1.5] }, 'must be one prompt'],
    ['prompt', { prompt: undefined }, 'must be one prompt'],
    ['prompt', { prompt: '' }, 'at least one token'],
    ['prompt', { prompt: [1, 1024] }, 'no token 1024'],
    ['prompt', { prompt: Array(5000).fill(1) }, 'leave no room'],
    ['prompt', { prompt: 'x'.repeat(200_000) }, 'characters'],
    ['max_tokens', { max_tokens: 0 }, ''],
    ['max_tokens', { max_tokens: 100_000 }, 'tokens left in the context'],
    ['temperature', { temperature: 3 }, ''],
    ['logprobs', { logprobs: 6 }, ''],
    ['logprobs', { logprobs: true }, ''],
    ['n', { n: 2 }, 'is not supported'],
    ['best_of', { best_of: 2 }, 'is not supported'],
    ['echo', { echo: true }, 'is not supported'],
    ['suffix', { suffix: 'end' }, 'is not supported'],
    ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }, ''],
    ['stream_options', { stream_options: { include_usage: true } }, 'needs stream: true'],
    ['messages', { messages: [] }, 'is not supported'],
    ['mood', { mood: 'good' }, 'unknown field'],
    ['guard.rate', { guard: { rate: 7 } }, ''],
    ['model', { model: 'other' }, 'is not served'],
  ])('is refused for its %s (%o)', async (param, changes, problem) => {
    const response = await send(body(changes));
    const { error } = await response.json();
    expect({ status: response.status, param: error.param }).toEqual({
      status: param === 'model' ? 404 : 400,
      param,
    });
    expect(error.message).toContain(problem);
  });
});

const written = (tokens: readonly object[]) =>
  tokens.map((token) => ['index', 'id', 'text'].map((name) => Reflect.get(token, name)));

function joined(lists: readonly object[]): unknown {
  if (lists.length === 0) return null;
  const names = ['tokens', 'token_logprobs', 'top_logprobs', 'text_offset'];
  return Object.fromEntries(names.map((name) => [name, lists.flatMap((list) => Reflect.get(list, name))]));
}

describe('the official openai client', () => {
  it('reads completions, whole and streamed', async () => {
    const asked = { model: 'reasoner', prompt: ids, temperature: 0, max_tokens: 20, logprobs: 1 };
    const completion = await client.completions.create(asked);
    expect(completion.object).toBe('text_completion');
    expect(completion.choices[0]?.logprobs?.tokens).toHaveLength(20);
    let text = '';
    for await (const chunk of await client.completions.create({ ...asked, stream: true }))
      text += chunk.choices[0]?.text ?? '';
    expect(text).toBe(completion.choices[0]?.text);
  });
});
