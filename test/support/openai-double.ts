import { z } from 'zod';
import type { Script, ScriptedReply, ScriptedRequest } from './scripted-upstream.js';
import { answering } from './upstream-doubles.js';

/**
 * A double of OpenAI's chat completions, made from their documentation alone (API reference, "Chat Completions" and
 * "Streaming"; guides "Function calling" and "Structured model outputs"), with DeepSeek's and vLLM's
 * `reasoning_content`. Every object has fields that no documentation names. The answer follows from the request:
 *
 * | the request has | the answer is |
 * | --- | --- |
 * | a tool message at its end | a text |
 * | an image part | a text |
 * | "refuse" in the question | a refusal |
 * | "filter" in the question | a text that the content filter cuts |
 * | `reasoning_effort` | reasoning and a text |
 * | `n` | as many texts |
 * | `response_format` with a schema, or `json_object` | an object: `{ city, celsius }` |
 * | `tools`, "both" in the question | two calls of the first tool at once |
 * | `tools` | a call of the first tool: `{ city }` |
 * | nothing of these | a text |
 */
export const openAiDouble = (): Script =>
  answering(({ json }, reply) => {
    const request = asked.parse(json);
    const answer = answerTo(request);
    if (request.stream) stream(reply, request, answer);
    else reply.json(200, whole(request, answer));
  });

export const CITY = 'Zürich';
const OTHER_CITY = '東京 😀';
export const OBJECT = { city: CITY, celsius: 21 };

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const asked = z.looseObject({
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(part)]).nullish() }),
  ),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.number().nullish(),
  n: z.number().nullish(),
  reasoning_effort: z.string().nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).nullish(),
});
type Asked = z.output<typeof asked>;

interface Choice {
  readonly content?: string;
  readonly refusal?: string;
  readonly reasoning_content?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  readonly finish: string;
}

function answerTo({ messages, n, reasoning_effort, response_format, tools }: Asked): readonly Choice[] {
  const last = messages.at(-1);
  const parts = Array.isArray(last?.content) ? last.content : [{ type: 'text', text: last?.content ?? '' }];
  const question = parts.map(({ text }) => text ?? '').join('');
  if (last?.role === 'tool') return [text('It is 21 degrees there.')];
  if (parts.some(({ type }) => type === 'image_url')) return [text('A cat, 猫.')];
  if (question.includes('refuse')) return [{ refusal: 'I cannot help with that.', finish: 'stop' }];
  if (question.includes('filter')) return [{ ...text('It begins with'), finish: 'content_filter' }];
  if (reasoning_effort) return [{ ...text('It is 4.'), reasoning_content: 'Two and two make four.' }];
  if (n) return Array.from({ length: n }, (_, i) => text(`Answer number ${i + 1} of ${n}.`));
  if (response_format?.type.startsWith('json')) return [text(JSON.stringify(OBJECT))];
  const name = tools?.[0]?.function.name;
  if (name === undefined) return [text('Hello there, Größe 漢字 😀!')];
  const cities = question.includes('both') ? [CITY, OTHER_CITY] : [CITY];
  const calls = cities.map((city) => ({ name, arguments: JSON.stringify({ city }) }));
  return [{ calls, finish: 'tool_calls' }];
}

const text = (content: string): Choice => ({ content, finish: 'stop' });

/** Unknown fields. */
const ODD = { odd: { list: [1, { deep: null }], empty: '' } } as const;

const head = (object: string) => ({
  id: 'chatcmpl-double',
  object,
  created: 1_700_000_000,
  model: 'their-model-2026-01-01',
  service_tier: 'default',
  system_fingerprint: 'fp_double',
  x_answer: ODD,
});

const usageOf = (choices: readonly Choice[]) => {
  const completion = choices.reduce((sum, { content = '' }) => sum + pieces(content).length, 7);
  return {
    prompt_tokens: 11,
    completion_tokens: completion,
    total_tokens: completion + 11,
    prompt_tokens_details: { cached_tokens: 3, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 5, accepted_prediction_tokens: 0 },
    x_usage: ODD,
  };
};

/** Words, which are its tokens. */
const pieces = (text: string): string[] => text.match(/\s*\S+/g) ?? [];

/** Pieces of a few characters each, which need not be tokens. */
const cuts = (text: string): string[] => text.match(/.{1,4}/gu) ?? [];

const callId = (i: number): string => `call_double_${i}`;

function logprobOf(token: string, top: number) {
  const entry = (token: string, logprob: number) => ({ token, logprob, bytes: [...Buffer.from(token)] });
  const all = [entry(token, -0.1), entry(`${token}?`, -3)];
  return { ...entry(token, -0.1), top_logprobs: all.slice(0, top) };
}

function logprobsOf({ logprobs, top_logprobs }: Asked, written: { content?: string; refusal?: string }) {
  if (!logprobs) return null;
  const entries = (text: string | undefined) =>
    text === undefined ? null : pieces(text).map((token) => logprobOf(token, top_logprobs ?? 0));
  return { content: entries(written.content), refusal: entries(written.refusal) };
}

function whole(request: Asked, choices: readonly Choice[]): object {
  return {
    ...head('chat.completion'),
    choices: choices.map(({ finish, calls, content = null, refusal = null, ...more }, index) => ({
      index,
      message: {
        role: 'assistant',
        content,
        refusal,
        ...more,
        ...(calls && {
          tool_calls: calls.map((called, i) => ({
            id: callId(i),
            type: 'function',
            function: called,
            x_call: ODD,
          })),
        }),
        x_message: ODD,
      },
      logprobs: calls
        ? null
        : logprobsOf(request, { ...(content !== null && { content }), ...(refusal !== null && { refusal }) }),
      finish_reason: finish,
      x_choice: ODD,
    })),
    usage: usageOf(choices),
  };
}

/** The choices take turns. */
function stream(reply: ScriptedReply, request: Asked, choices: readonly Choice[]): void {
  const { stream_options: options } = request;
  const usage = options?.include_usage ? { usage: null } : {};
  const send = (given: readonly object[], rest: object = usage): void => {
    reply.data({ ...head('chat.completion.chunk'), choices: given, ...rest, obfuscation: 'aB3' });
  };
  reply.head();
  const waiting = choices.map((choice, index) => deltas(request, choice, index));
  while (waiting.some(({ length }) => length > 0)) {
    for (const deltas of waiting) {
      const next = deltas.shift();
      if (next) send([next]);
    }
  }
  if (options?.include_usage) send([], { usage: usageOf(choices) });
  reply.last();
}

function deltas(request: Asked, { finish, calls = [], ...written }: Choice, index: number): object[] {
  const choice = (delta: object, logprobs: object | null = null, reason: string | null = null) => ({
    index,
    delta,
    logprobs,
    finish_reason: reason,
  });
  const { content, refusal, reasoning_content: reasoning } = written;
  const called = calls.flatMap(({ name, arguments: text }, i) => [
    { index: i, id: callId(i), type: 'function', function: { name, arguments: '' }, x_call: ODD },
    ...cuts(text).map((each) => ({ index: i, function: { arguments: each } })),
  ]);
  return [
    choice({ role: 'assistant', content: content === undefined ? null : '', refusal: null }),
    { ...choice({ x_message: ODD }), x_choice: ODD },
    ...pieces(reasoning ?? '').map((each) => choice({ reasoning_content: each })),
    ...called.map((each) => choice({ tool_calls: [each] })),
    ...pieces(refusal ?? '').map((each) => choice({ refusal: each }, logprobsOf(request, { refusal: each }))),
    ...pieces(content ?? '').map((each) => choice({ content: each }, logprobsOf(request, { content: each }))),
    choice({}, null, finish),
  ];
}

/** Bodies of the requests, without the probes. */
export const askedOf = (requests: readonly ScriptedRequest[]): readonly Readonly<Record<string, unknown>>[] =>
  requests
    .filter(({ path, json }) => path === '/v1/chat/completions' && json.max_tokens !== 2)
    .map(({ json }) => json);

/** Fields that every gateway sets itself. */
const OWN: ReadonlySet<string> = new Set(['flinch', 'created', 'model', 'model_name']);

/** A client's result for an answer, without fields that a gateway sets itself. */
export function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) =>
      OWN.has(name) || String(field).startsWith('chatcmpl-') ? [] : [[name, comparable(field)]],
    ),
  );
}
