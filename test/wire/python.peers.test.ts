import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { pythonOf } from '#lab/peers/peers-folder.js';
import { jsonLines } from '../support/cli.js';
import { needs } from '../support/peers.js';
import { scriptedUpstream } from '../support/scripted-upstream.js';
import { answering } from '../support/upstream-doubles.js';
import { upstreamGateway } from '../support/upstream-gateway.js';
import { MENDED, plain, told } from './compared.js';
import { bytesOf, EXCHANGES, OFF, requestOf, STREAMED, serverOf } from './exchange.js';

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

test.skipIf(missing)(`openai-python reads through flinch what it reads directly${reason}`, async () => {
  const upstream = await scriptedUpstream(serverOf(EXCHANGES));
  const { url } = await upstreamGateway([upstream.url], { retries: 0 });
  const requests = CHATS.flatMap((exchange) => [
    { exchange, changes: STREAMED },
    ...(exchange.whole ? [{ exchange, changes: {} }] : []),
  ]);
  const readFrom = (url: string, guard: object) =>
    readByPython(
      requests.map(({ exchange, changes }) => ({
        url,
        request: requestOf(exchange, { ...changes, ...guard }),
      })),
    );
  const there = await readFrom(upstream.url, {});
  const off = await readFrom(`${url}/v1`, OFF);
  const on = await readFrom(`${url}/v1`, {});
  for (const [i, { exchange }] of requests.entries()) {
    const [direct, passed, guarded] = [there, off, on].map((answers) => plain(Object(answers[i])));
    // Some cannot read what flinch mends.
    if (Object(direct).error) continue;
    expect(passed, exchange.name).toEqual(direct);
    if (!MENDED.has(exchange.name)) expect(guarded, exchange.name).toMatchObject(Object(told(direct)));
  }
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
  const { url } = await upstreamGateway([upstream.url], {}, {}, { bounds: { heartbeatMs: 200 } });
  const read = await readByPython([{ url: `${url}/v1`, request: requestOf(exchange!, STREAMED) }]);
  expect(read).toEqual([{ text: 'One two.', finish: 'stop', calls: [] }]);
});
