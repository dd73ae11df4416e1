import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sseData } from '../../support/gateway.js';
import { OPEN_WEBUI_REQUESTS, type OpenWebUiRequest, passedOn } from '../../support/open-webui-requests.js';
import { askedOf, comparable, openAiDouble } from '../../support/openai-double.js';
import { scriptedUpstream } from '../../support/scripted-upstream.js';
import { upstreamGateway } from '../../support/upstream-gateway.js';

const called = z.object({
  index: z.number(),
  function: z.object({ name: z.string().default(''), arguments: z.string() }),
});
const chunk = z.object({
  choices: z.array(
    z.object({
      delta: z.object({ content: z.string().nullish(), tool_calls: z.array(called).default([]) }),
      finish_reason: z.string().nullable(),
    }),
  ),
});

/** What Open WebUI reads of an answer. */
async function answer(base: string, body: OpenWebUiRequest): Promise<unknown> {
  const response = await fetch(`${base}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  if (!body.stream) return comparable(await response.json());
  let [text, calls, finish]: [string, string, string | null] = ['', '', null];
  for await (const data of sseData(response)) {
    if (data === '[DONE]') return { text, calls, finish };
    for (const { delta, finish_reason } of chunk.parse(JSON.parse(data)).choices) {
      text += delta.content ?? '';
      for (const { index, function: part } of delta.tool_calls)
        calls += `${part.name && `${index}: ${part.name}`}${part.arguments}`;
      finish ??= finish_reason;
    }
  }
  throw new Error('the stream ended without [DONE]');
}

describe("what Open WebUI's page asks for one question", () => {
  it.each([
    {},
    { defaults: { delivery: 'held' }, locked: 'all', unscored: 'pass' },
    { defaults: { action: 'stop', delivery: 'held' } },
    { defaults: { enabled: false } },
  ] as const)('is answered as by the server, with the policy %j', async (guard) => {
    const double = await scriptedUpstream(openAiDouble());
    const { url } = await upstreamGateway([double.url], {}, {}, { guard });
    for (const body of OPEN_WEBUI_REQUESTS) {
      const direct = await answer(double.url, body);
      expect(await answer(`${url}/v1`, body)).toEqual(direct);
    }
    const asked = askedOf(double.requests).map(passedOn);
    expect(asked).toHaveLength(2 * OPEN_WEBUI_REQUESTS.length);
    expect(asked.filter((_, i) => i % 2 === 1)).toEqual(asked.filter((_, i) => i % 2 === 0));
  });
});
