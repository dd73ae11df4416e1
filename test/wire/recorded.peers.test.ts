import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { freePort } from '#lab/free-port.js';
import { checkpointOf, peersFolder } from '#lab/peers/peers-folder.js';
import { startProcess } from '#lab/peers/server.js';
import { litellmCommand } from '../support/litellm.js';
import { needs, needsServer, startServer } from '../support/peers.js';
import { THINKING_TEMPLATE } from '../support/recordings.js';
import { told } from './compared.js';
import { EXCHANGES, FOLDER, PATHS, RESPONSES, STREAMED } from './exchange.js';

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

const LLAMA_CPP = "llama.cpp's server at 0c1e57098";
const TINY = 'SmolLM2-135M-Instruct';
const ONE_THREAD = ['--threads', '1'];

/** The servers that wrote an exchange, by its report. Its request is what they are asked, as a stream and whole. */
const SERVERS: Readonly<
  Record<string, readonly ['vllm' | 'llama-cpp' | 'transformers', readonly string[], 'litellm'?]>
> = {
  [`recorded: vLLM 0.32.0 on a CPU, ${TINY}`]: [
    'vllm',
    ['--enable-auto-tool-choice', '--tool-call-parser', 'hermes'],
  ],
  [`recorded: ${LLAMA_CPP}, ${TINY} (Q4_1)`]: ['llama-cpp', ONE_THREAD],
  [`recorded: ${LLAMA_CPP}, ${TINY} (Q4_1), a template with thoughts`]: [
    'llama-cpp',
    [...ONE_THREAD, '--chat-template-file', THINKING_TEMPLATE],
  ],
  [`recorded: LiteLLM's proxy 1.106.2 before ${LLAMA_CPP}`]: ['llama-cpp', ONE_THREAD, 'litellm'],
  [`recorded: transformers 5.19.0's \`serve\`, ${TINY}`]: ['transformers', []],
};

for (const [report, [peer, args, litellm]] of Object.entries(SERVERS)) {
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

    const exchanges = [...EXCHANGES, ...RESPONSES].filter((exchange) => exchange.report === report);
    test.each(exchanges)('$name', async ({ name, api, request }) => {
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
      const file = new URL(`${name}.json`, FOLDER);
      if (!writes) return expect(stable(made)).toEqual(stable(JSON.parse(readFileSync(file, 'utf8'))));
      const expected = api === 'responses' ? expectedResponse(whole) : expectedAnswer(whole);
      writeFileSync(file, `${JSON.stringify({ ...made, expected }, null, 2)}\n`);
    });
  });
}
