import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { pythonOf } from '#lab/peers/folder.js';
import { jsonLines } from '../support/cli.js';
import { needs } from '../support/peers.js';
import { scriptedUpstream } from '../support/scripted-upstream.js';
import { answering } from '../support/upstream-doubles.js';
import { upstreamGateway } from '../support/upstream-gateway.js';
import { bytesOf, CUTS, EXCHANGES, expectedText, requestOf, serverOf } from './exchange.js';

// LiteLLM's environment has openai-python.
const PYTHON = pythonOf('litellm');
const { missing, reason } = needs(PYTHON);
const CHATS = EXCHANGES.filter(({ api }) => api === 'chat');

async function readByPython(streams: readonly { readonly url: string; readonly request: object }[]) {
  const script = fileURLToPath(new URL('read.py', import.meta.url));
  const reader = spawn(PYTHON, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  reader.stdin.end(JSON.stringify(streams));
  return jsonLines(await text(reader.stdout));
}

test.skipIf(missing)(`openai-python reads every exchange through flinch${reason}`, async () => {
  const streams = await Promise.all(
    CHATS.map(async (exchange) => {
      const upstream = await scriptedUpstream(serverOf(exchange, CUTS['in pieces of any size']!));
      const { url } = await upstreamGateway([upstream.url], { retries: 0 });
      return { url: `${url}/v1`, request: requestOf(exchange) };
    }),
  );
  const expected = CHATS.map((exchange) => ({
    text: expectedText(exchange),
    finish: exchange.expected.choice.finish_reason,
  }));
  expect(await readByPython(streams)).toEqual(expected);
});

test.skipIf(missing)(`openai-python reads on while nothing is written${reason}`, async () => {
  const [exchange] = CHATS.filter(({ name }) => name === 'openai-text');
  const bytes = bytesOf(exchange!);
  const upstream = await scriptedUpstream(
    answering(async (_, reply) => {
      reply.head();
      for (const half of [bytes.subarray(0, 800), bytes.subarray(800)]) {
        reply.write(half);
        await setTimeout(2000);
      }
      reply.end();
    }),
  );
  const { url } = await upstreamGateway([upstream.url], {}, {}, { streams: { heartbeat_s: 0.2 } });
  const read = await readByPython([{ url: `${url}/v1`, request: requestOf(exchange!) }]);
  expect(read).toEqual([{ text: 'One two.', finish: 'stop' }]);
});
