import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { freePort } from '#lab/free-port.js';
import { checkpointOf, peersFolder } from '#lab/peers/folder.js';
import { startProcess } from '#lab/peers/server.js';
import { litellmCommand } from '../support/litellm.js';
import { needs, needsServer, startServer } from '../support/peers.js';
import { told } from './compared.js';
import { FOLDER, PATHS, STREAMED } from './exchange.js';
import { RECORDED } from './recorded.js';

/** FLINCH_RECORD=1 writes what the servers answer, instead of comparing it. */
const writes = process.env.FLINCH_RECORD === '1';

const LITELLM = join(peersFolder(), 'environments/litellm/bin/litellm');

const TRANSFORMERS = join(peersFolder(), 'environments/vllm/bin/transformers');
const SMOLLM2 = checkpointOf('smollm2');

async function startTransformers() {
  const folder = mkdtempSync(join(tmpdir(), 'flinch-transformers-'));
  const port = await freePort();
  const command = {
    command: TRANSFORMERS,
    args: [
      ...['serve', SMOLLM2, '--device', 'cpu', '--dtype', 'float32'],
      ...['--host', '127.0.0.1', '--port', String(port)],
    ],
    env: { HF_HUB_OFFLINE: '1', HF_HUB_CACHE: folder },
  };
  return startProcess('transformers', command, { port, log: join(folder, 'log'), timeout: 900_000 });
}

/** LiteLLM's proxy before a server. */
async function startLiteLlm(url: string) {
  const folder = mkdtempSync(join(tmpdir(), 'flinch-litellm-'));
  mkdirSync(join(folder, 'servers'));
  const port = await freePort();
  const command = litellmCommand(folder, port, [{ peer: 'peer', model: 'smollm2', url }]);
  return startProcess('litellm', { ...command, command: LITELLM }, { port, log: join(folder, 'log') });
}

const answer = z.looseObject({ choices: z.array(z.unknown()), usage: z.unknown() });
const expectedAnswer = (whole: unknown) => {
  const { choices, usage } = answer.parse(whole);
  return { choice: told(choices[0]), usage: told(usage) };
};

const message = z.looseObject({ content: z.array(z.looseObject({ text: z.string() })) });
const response = z.looseObject({ status: z.string(), output: z.array(message) });
const expectedResponse = (whole: unknown) => {
  const { status, output } = response.parse(whole);
  const text = output.flatMap(({ content }) => content.map((part) => part.text)).join('');
  return { choice: { text, status }, usage: null };
};

/** What was asked and answered, but for what differs at each time. */
const stable = ({
  stream,
  whole,
}: {
  readonly stream: readonly string[];
  readonly whole: unknown;
}): unknown =>
  JSON.parse(
    JSON.stringify({ stream, whole })
      .replaceAll(
        /(\\?"(?:id|created|system_fingerprint|cached_tokens|\w+_ms|\w+_per_second)\\?"):\s*(\\?"[^"\\]*\\?"|[\d.e-]+)/g,
        '$1:0',
      )
      .replaceAll(/(-?\d+\.\d{3})\d*(e-?\d+)?/g, '$1'),
  );

for (const { name, peer, args, litellm, report, requests } of RECORDED) {
  const needed = peer === 'transformers' ? needs(TRANSFORMERS, SMOLLM2) : needsServer(peer, 'smollm2');
  const lacks = [needed, ...(litellm ? [needs(LITELLM)] : [])].find(({ missing }) => missing);

  describe.skipIf(lacks)(`${report}${lacks?.reason ?? ''}`, () => {
    const servers: { url: string; close(): Promise<void> }[] = [];
    beforeAll(async () => {
      const own = peer === 'transformers';
      servers.push(own ? await startTransformers() : await startServer(peer, 'smollm2', args));
      if (litellm) servers.push(await startLiteLlm(servers[0]!.url));
    }, 900_000);
    afterAll(async () => {
      for (const server of servers) await server.close();
    });

    test.each(Object.entries(requests))('%s', async (kind, { api, request }) => {
      const model = litellm ? 'peer/smollm2' : peer === 'transformers' ? SMOLLM2 : 'smollm2';
      const ask = async (changes: object): Promise<string> => {
        const response = await fetch(`${servers.at(-1)?.url}${PATHS[api]}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model, ...request, ...changes }),
        });
        expect(response.status).toBe(200);
        return (await response.text()).replaceAll(`${SMOLLM2}@main`, 'smollm2');
      };
      const stream = (await ask(STREAMED)).split(/(?<=\n\n)/);
      const whole: unknown = JSON.parse(await ask({ stream: false }));
      const made = { report, api, request, stream, whole };
      const file = new URL(`${name}-${kind}.json`, FOLDER);
      if (!writes) return expect(stable(made)).toEqual(stable(JSON.parse(readFileSync(file, 'utf8'))));
      const expected = api === 'responses' ? expectedResponse(whole) : expectedAnswer(whole);
      writeFileSync(file, `${JSON.stringify({ ...made, expected }, null, 2)}\n`);
    });
  });
}
