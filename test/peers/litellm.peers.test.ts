import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { peersFolder } from '#lab/peers/peers-folder.js';
import { startProcess } from '#lab/peers/server.js';
import { litellmCommand } from '../support/litellm.js';
import { CITY, comparable, openAiDouble } from '../support/openai-double.js';
import { needs } from '../support/peers.js';
import { scriptedUpstream } from '../support/scripted-upstream.js';
import { upstreamGateway } from '../support/upstream-gateway.js';

const COMMAND = join(peersFolder(), 'environments/litellm/bin/litellm');

/** LiteLLM's proxy; `<peer>/<model>` is its name for a model. */
async function startLiteLlm(
  servers: readonly { peer: string; model: string; url: string }[],
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'flinch-litellm-'));
  mkdirSync(join(folder, 'servers'));
  const port = await freePort();
  const command = { ...litellmCommand(folder, port, servers), command: COMMAND };
  const server = await startProcess('litellm', command, { port, log: join(folder, 'log') });
  onTestFinished(() => server.close());
  return server.url;
}

const QUESTION = {
  messages: [{ role: 'user' as const, content: 'What is the weather in both cities?' }],
  tools: [
    {
      type: 'function' as const,
      function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
    },
  ],
};

async function answers(baseURL: string, model: string) {
  const { completions } = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 }).chat;
  const whole = await completions.create({ model, ...QUESTION });
  const chunks = await completions.create({ model, ...QUESTION, stream: true });
  const streamed = await ChatCompletionStream.fromReadableStream(
    chunks.toReadableStream(),
  ).finalChatCompletion();
  return { whole: whole.choices, streamed: streamed.choices };
}

describe('LiteLLM', () => {
  const { missing, reason } = needs(COMMAND);

  test.skipIf(missing)(`passes on tool calls, before flinch and behind it${reason}`, async () => {
    const double = await scriptedUpstream(openAiDouble());
    const flinch = await upstreamGateway([double.url]);
    const liteLlm = await startLiteLlm([
      { peer: 'double', model: 'm', url: double.url },
      { peer: 'flinch', model: 'm', url: `${flinch.url}/v1` },
    ]);
    const before = await upstreamGateway([liteLlm], { upstreams: [{ url: liteLlm, model: 'double/m' }] });

    const direct = await answers(liteLlm, 'double/m');
    expect(direct.whole[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'weather', arguments: JSON.stringify({ city: CITY }) } },
      { function: { name: 'weather' } },
    ]);
    expect(comparable(await answers(liteLlm, 'flinch/m'))).toEqual(comparable(direct));
    const behind = await answers(`${before.url}/v1`, 'm');
    expect(comparable(behind.streamed)).toEqual(comparable(direct.streamed));
    // LiteLLM's streams lack some of what its whole answers have, and flinch asks for streams.
    const called = ({ whole: [choice] }: typeof direct) => [
      choice?.finish_reason,
      comparable(choice?.message.tool_calls),
    ];
    expect(called(behind)).toEqual(called(direct));
  });
});
