import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { freePort } from '#lab/free-port.js';
import { peersFolder } from '#lab/peers/peers-folder.js';
import { startProcess } from '#lab/peers/server.js';
import { useGateway } from '../support/gateway.js';
import { litellmCommand } from '../support/litellm.js';
import { comparable, openAiDouble } from '../support/openai-double.js';
import { needs } from '../support/peers.js';
import { LONG_QUESTION, PLAIN_QUESTION as QUESTION } from '../support/requests.js';
import { startScriptedUpstream } from '../support/scripted-upstream.js';

const COMMAND = join(peersFolder(), 'environments/litellm/bin/litellm');
const EXAMPLES = 'deploy/litellm';
const RECORDED = '../fixtures/litellm-guardrail.json';

const guardrail = z.looseObject({ guardrail_name: z.string(), litellm_params: z.looseObject({}) });
const example = z.object({ model_list: z.unknown(), guardrails: z.array(guardrail) });
/** What LiteLLM logs of a guardrail. */
const logged = z.looseObject({
  guardrail_name: z.string(),
  guardrail_status: z.string(),
  guardrail_response: z.unknown(),
});
type Logged = z.output<typeof logged>;

interface Running {
  readonly folder: string;
  readonly url: string;
  /** What LiteLLM asks the guardrail API, and what that answers. */
  readonly requests: object[];
  readonly answers: unknown[];
  readonly close: () => Promise<void>;
}

/** What is another one each time. */
const withoutIds = (request: object) => ({
  ...request,
  litellm_call_id: 'call',
  litellm_trace_id: 'trace',
  request_headers: {},
});

/** A logger of LiteLLM's, which writes what is known of each call into a file. */
const LOGGER = `
import json
from litellm.integrations.custom_logger import CustomLogger

class Lines(CustomLogger):
    def write(self, kwargs):
        payload = kwargs.get("standard_logging_object") or {}
        with open(__file__.removesuffix(".py") + ".jsonl", "a") as file:
            file.write(json.dumps(payload.get("guardrail_information"), default=str) + "\\n")
    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        self.write(kwargs)
    async def async_log_failure_event(self, kwargs, response_obj, start_time, end_time):
        self.write(kwargs)

lines = Lines()
`;

describe('LiteLLM with the example guardrails', () => {
  const { missing, reason } = needs(COMMAND);
  const gateway = useGateway();
  const running: Running = {
    folder: '',
    url: '',
    requests: [],
    answers: [],
    close: async () => {},
  };

  beforeAll(async () => {
    if (missing) return;
    const folder = mkdtempSync(join(tmpdir(), 'flinch-litellm-'));
    mkdirSync(join(folder, 'servers'));
    const recorder = createServer((req, res) => {
      const parts: Buffer[] = [];
      req.on('data', (part: Buffer) => parts.push(part));
      req.on('end', async () => {
        const body = Buffer.concat(parts);
        running.requests.push(JSON.parse(body.toString()));
        const headers = { 'Content-Type': 'application/json' };
        const answer = await fetch(`${gateway.url}${req.url}`, { method: 'POST', headers, body });
        const text = await answer.text();
        running.answers.push(JSON.parse(text));
        res.writeHead(answer.status, headers).end(text);
      });
    });
    await new Promise<void>((resolve) => recorder.listen(0, '127.0.0.1', resolve));
    const address = recorder.address();
    if (typeof address !== 'object' || !address) throw new Error('no port');
    const port = await freePort();
    const double = await startScriptedUpstream(openAiDouble());
    const servers = [
      { peer: 'flinch', model: 'reasoner', url: `${gateway.url}/v1` },
      { peer: 'double', model: 'm', url: double.url },
    ];
    const command = { ...litellmCommand(folder, port, servers), command: COMMAND };
    const path = join(folder, 'servers', 'litellm.yaml');
    const { guardrails } = example.parse(parse(readFileSync(join(EXAMPLES, 'config.yaml'), 'utf8')));
    const bases = [`http://127.0.0.1:${address.port}`, gateway.url];
    const changed = guardrails.map(({ guardrail_name, litellm_params }, i) => ({
      guardrail_name,
      litellm_params: {
        ...litellm_params,
        api_base: bases[i],
        additional_provider_specific_params: { model: 'reasoner' },
      },
    }));
    const [whole, stream] = changed;
    if (!whole || !stream) throw new Error('the example has two guardrails');
    const variant = (name: string, params: object) => ({
      guardrail_name: name,
      litellm_params: { ...stream.litellm_params, ...params },
    });
    const nowhere = 'http://127.0.0.1:9';
    writeFileSync(
      path,
      JSON.stringify({
        ...JSON.parse(readFileSync(path, 'utf8')),
        guardrails: [
          whole,
          stream,
          variant('blocking', { block: true }),
          variant('closed', { api_base: nowhere }),
          variant('unknown', { additional_provider_specific_params: { model: 'none' } }),
          variant('open', { api_base: nowhere, unreachable_fallback: 'fail_open' }),
        ],
        litellm_settings: { callbacks: ['lines.lines'] },
      }),
    );
    copyFileSync(join(EXAMPLES, 'flinch_guardrail.py'), join(folder, 'servers', 'flinch_guardrail.py'));
    writeFileSync(join(folder, 'servers', 'lines.py'), LOGGER);
    const server = await startProcess('litellm', command, { port, log: join(folder, 'log') });
    Object.assign(running, {
      folder,
      url: server.url,
      close: async () => {
        await server.close();
        await double.close();
        recorder.close();
      },
    });
  });
  afterAll(() => running.close());

  const asked = (guardrails: readonly string[], changes: object = {}) => ({
    model: 'flinch/reasoner',
    messages: [{ role: 'user' as const, content: QUESTION }],
    temperature: 0,
    max_tokens: 80,
    guardrails,
    guard: { enabled: false },
    ...changes,
  });
  const client = () => new OpenAI({ baseURL: running.url, apiKey: 'none', maxRetries: 0 }).chat.completions;
  /** Nothing that the model knows. */
  const DOUBTFUL = { messages: [{ role: 'user' as const, content: LONG_QUESTION }] };

  /** What LiteLLM logs of its guardrails during a call. */
  async function during<T>(call: () => Promise<T>): Promise<{ result: T; logs: Logged[] }> {
    const file = join(running.folder, 'servers', 'lines.jsonl');
    const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []);
    const before = lines().length;
    const result = await call();
    await expect.poll(() => lines().length).toBeGreaterThan(before);
    const logs = lines()
      .slice(before)
      .flatMap((line) => z.array(logged).nullable().parse(JSON.parse(line)) ?? []);
    return { result, logs };
  }

  async function stream(guardrails: readonly string[], changes?: object) {
    const chunks: { said: unknown; ms: number }[] = [];
    let error: unknown = null;
    try {
      const answer = await client().create({ ...asked(guardrails, changes), stream: true });
      for await (const { choices } of answer) {
        for (const choice of choices) chunks.push({ said: comparable(choice), ms: performance.now() });
      }
    } catch (caught) {
      error = caught;
    }
    return { chunks, error, said: chunks.map(({ said }) => said) };
  }
  const spread = (chunks: readonly { ms: number }[]) => (chunks.at(-1)?.ms ?? 0) - (chunks[0]?.ms ?? 0);

  test.skipIf(missing)(`score a whole answer against its prompt${reason}`, async () => {
    const { result, logs } = await during(() => client().create(asked(['flinch'])));
    expect(result.choices[0]?.message.content).toContain('11 - 3 = 8');
    expect(logs.map((each) => [each.guardrail_name, each.guardrail_status])).toEqual([
      ['flinch', 'success'],
      ['flinch', 'success'],
    ]);
    expect(running.answers).toMatchObject([
      { action: 'NONE', flinch: { reason: 'requests are not scored' } },
      { action: 'NONE', flinch: { texts: [{ verdict: { flagged: false, unscored_tokens: 0 } }] } },
    ]);
    const recorded = `${JSON.stringify(running.requests.map(withoutIds), null, 2)}\n`;
    await expect(recorded).toMatchFileSnapshot(RECORDED);
  });

  test.skipIf(missing)(`block a whole answer that is flagged${reason}`, async () => {
    const call = () => client().create(asked(['flinch'], DOUBTFUL));
    const { result, logs } = await during(() => call().catch((error: unknown) => error));
    expect(result).toMatchObject({ message: expect.stringContaining('flinch: the model was unsure') });
    expect(logs.at(-1)?.guardrail_status).toBe('guardrail_intervened');
  });

  test.skipIf(missing)(`pass the chunks of a stream on as they come${reason}`, async () => {
    const { result: plain } = await during(() => stream([]));
    expect(plain).toMatchObject({ error: null });
    expect(plain.chunks.length).toBeGreaterThan(20);
    const { result, logs } = await during(() => stream(['flinch', 'flinch-stream']));
    expect(result).toMatchObject({ error: null });
    expect(result.said).toEqual(plain.said);
    expect(spread(result.chunks)).toBeGreaterThan(spread(plain.chunks) / 4);
    expect(logs.map((each) => [each.guardrail_name, each.guardrail_status])).toEqual([
      ['flinch', 'success'],
      ['flinch', 'success'],
      ['flinch-stream', 'success'],
    ]);
    expect(logs.at(-1)?.guardrail_response).toMatchObject({
      verdict: { flagged: false, unscored_tokens: 0 },
    });
  });

  test.skipIf(missing)(`flag a stream, and end it if that is chosen${reason}`, async () => {
    const { result: plain } = await during(() => stream([], DOUBTFUL));
    const flagged = await during(() => stream(['flinch-stream'], DOUBTFUL));
    expect(flagged.result.said).toEqual(plain.said);
    expect(flagged.logs.map((each) => each.guardrail_status)).toEqual(['guardrail_flagged']);
    expect(JSON.stringify(flagged.logs[0]?.guardrail_response)).toContain('"text":"');
    const blocked = await during(() => stream(['blocking'], DOUBTFUL));
    expect(blocked.result.error).toMatchObject({ message: expect.stringContaining('the model was unsure') });
    const { said } = blocked.result;
    expect(said).toEqual(plain.said.slice(0, said.length));
    expect(blocked.logs).toMatchObject([{ guardrail_status: 'guardrail_intervened' }]);
  });

  test.skipIf(missing).for([
    ['closed', 'refused'],
    ['open', 'refused'],
    ['unknown', 'model: "none" is not served'],
  ] as const)(`never log an unscored stream as passed: %s${reason}`, async ([name, why]) => {
    const { result, logs } = await during(() => stream([name]));
    expect(logs).toMatchObject([
      {
        guardrail_status: 'guardrail_failed_to_respond',
        guardrail_response: { reason: expect.stringContaining(why) },
      },
    ]);
    if (name === 'open') expect(result.said).toEqual((await during(() => stream([]))).result.said);
    else expect(result.error).toMatchObject({ message: expect.stringContaining(why) });
  });

  test.skipIf(missing)(
    `leave tool calls as they are, and say that they are not scored${reason}`,
    async () => {
      const weather = {
        name: 'weather',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
      };
      const changes = {
        model: 'double/m',
        tools: [{ type: 'function', function: weather }],
        messages: [{ role: 'user', content: 'What is the weather in both cities?' }],
      };
      const { result: plain } = await during(() => stream([], changes));
      expect(JSON.stringify(plain.said)).toContain('tool_calls');
      const { result, logs } = await during(() => stream(['flinch-stream'], changes));
      expect(result.said).toEqual(plain.said);
      const unscored = { unscored: expect.arrayContaining(['tool_calls']) };
      expect(logs).toMatchObject([{ guardrail_status: 'not_run', guardrail_response: unscored }]);
    },
  );
});
