import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.js';
import { startUpstreamGateway, type UpstreamGateway } from '../support/upstream-gateway.js';
import { OFF, RESPONSES, requestOf, serverOf } from './exchange.js';

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

let upstream: ScriptedUpstream;
let gateway: UpstreamGateway & { close(): Promise<void> };
beforeAll(async () => {
  upstream = await startScriptedUpstream(serverOf(RESPONSES));
  gateway = await startUpstreamGateway([upstream.url], { retries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

describe.each([
  ['with the guard on', {}],
  ['with the guard off', OFF],
])('%s', (_, changes) => {
  it.each(RESPONSES)('$name is read through flinch as directly', async (exchange) => {
    // Some it cannot read directly: events without data, which flinch leaves out, and events without an output.
    const [there, here] = await Promise.all([
      read(upstream.url, requestOf(exchange)).catch(String),
      read(`${gateway.url}/v1`, requestOf(exchange, changes)).catch(String),
    ]);
    const { text, ...expected } = exchange.expected.choice;
    if (typeof there === 'object' || typeof here === 'string') expect(here).toEqual(there);
    else expect(here).toMatchObject({ output_text: text, ...expected });
    const whole = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(requestOf(exchange, changes)),
    });
    expect(await whole.json()).toMatchObject(expected);
  });
});
