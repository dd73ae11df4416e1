import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { scriptedUpstream } from '../support/scripted-upstream.js';
import { upstreamGateway } from '../support/upstream-gateway.js';
import { CUTS, RESPONSES, requestOf, serverOf } from './exchange.js';

const GUARDS = { 'with the guard on': {}, 'with the guard off': { guard: { enabled: false } } };
const ways = Object.entries(CUTS).flatMap(([how, cut]) =>
  Object.entries(GUARDS).map(([guard, changes]) => [how, guard, { cut, changes }] as const),
);

/** What openai-node has in the end, without the name of the model and the fields of flinch. */
async function read(baseURL: string, request: object) {
  const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });
  const stream = client.responses.stream(JSON.parse(JSON.stringify(request)));
  const { id, status, output, output_text, usage } = await stream.finalResponse();
  return JSON.parse(
    JSON.stringify({ id, status, output, output_text, usage }, (name, value) =>
      name === 'flinch' ? undefined : value,
    ),
  );
}

describe.each(RESPONSES)('$name', (exchange) => {
  it.each(ways)('is read through flinch as directly, %s, %s', async (_, __, { cut, changes }) => {
    const upstream = await scriptedUpstream(serverOf(exchange, cut));
    const { url } = await upstreamGateway([upstream.url], { retries: 0 });
    const [there, here] = await Promise.all([
      read(upstream.url, requestOf(exchange)).catch(() => null), // it cannot read events without data
      read(`${url}/v1`, requestOf(exchange, changes)),
    ]);
    if (there) expect(here).toEqual(there);
    const { text, ...expected } = exchange.expected.choice;
    expect(here).toMatchObject({ output_text: text, ...expected });
    const whole = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(requestOf(exchange, changes)),
    });
    expect(await whole.json()).toMatchObject(expected);
  });
});
