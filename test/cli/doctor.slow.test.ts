import { chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { shellWord } from '#cli/shell-word.js';
import { freePort } from '#lab/free-port.js';
import type { Precision } from '#src/engine/device.js';
import { flinch, useFolder } from '../support/cli.js';
import { checkpointFolder, REASONER } from '../support/golden.js';
import { hasRedis, RedisServer } from '../support/redis.js';
import { scriptedUpstream } from '../support/scripted-upstream.js';
import { vllmDouble } from '../support/upstream-doubles.js';
import { useTestGateway } from '../support/waiting-gateway.js';

const folder = useFolder();

const report = z.object({
  healthy: z.boolean(),
  findings: z.array(
    z.object({
      check: z.string(),
      of: z.string().optional(),
      status: z.enum(['ok', 'warning', 'problem']),
      found: z.string(),
      remedy: z.string().nullable(),
      facts: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});

async function doctor(...args: readonly string[]) {
  const { code, stdout, stderr } = await flinch(['doctor', ...args, '--json']);
  expect(stderr).toBe('');
  const { healthy, findings } = report.parse(JSON.parse(stdout));
  expect(code).toBe(healthy ? 0 : 1);
  const of = (check: string) => findings.filter((finding) => finding.check === check);
  return { healthy, of, statuses: Object.fromEntries(findings.map(({ check, status }) => [check, status])) };
}

const withConfig = (config: object) =>
  doctor('--config', folder.write('flinch.yaml', JSON.stringify({ listen: { port: 0 }, ...config })));

async function occupiedPort(): Promise<number> {
  const server = createServer();
  onTestFinished(() => void server.close());
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return port;
}

describe('flinch doctor', () => {
  it('finds nothing wrong with the embedded model', async () => {
    const { healthy, statuses } = await doctor('--port', '0');
    expect({ healthy, statuses }).toEqual({
      healthy: true,
      statuses: {
        configuration: 'ok',
        access: 'ok',
        machine: 'ok',
        model: 'ok',
        tokens: 'ok',
        memory: 'ok',
        speed: 'ok',
        calibration: 'ok',
      },
    });
  });

  it('says what a model is, what memory it needs, and how fast it can be', async () => {
    const { of } = await doctor(REASONER, '--port', '0');
    const found = (check: string) => of(check)[0]?.found;
    expect(found('model')).toMatch(/: llama; 2\.56 M parameters stored as fp32; weights of 10 MB/);
    expect(found('tokens')).toMatch(/ends with .*<\|im_end\|>.*; chat template; 512 positions$/);
    expect(found('memory')).toContain('for each response of 512 tokens');
    expect(found('speed')).toMatch(/^at most [\d.e+]+ tokens\/s written, [\d.e+]+ of a finished text/);
    expect(of('machine')[0]?.facts).toMatchObject({ flops: expect.any(Number) });
    expect(of('model')[0]?.facts).toMatchObject({ embeddingRms: expect.closeTo(0.2465, 4) });
  });

  it('says what memory of a GPU its weights take', async () => {
    const found = async (precision: Precision) => {
      const models = { reasoner: { checkpoint: REASONER, device: 'cuda', precision } };
      return (await withConfig({ models })).of('memory')[0]?.found;
    };
    expect(await found('fp32')).toBe('weights of 20 MB with WebGPU, 31 MB with CUDA');
    expect(await found('bf16')).toBe('weights of 15 MB with CUDA');
  });

  it('says how long the texts of a model may be', async () => {
    const { of } = await doctor(checkpointFolder('tiny-phi3'), '--port', '0');
    expect(of('tokens')[0]?.found).toMatch(/256 positions \(long_factor.* is not supported\)$/);
  });

  it('names a place that is no model', async () => {
    expect((await doctor('/nowhere', '--port', '0')).of('model')).toMatchObject([
      { status: 'problem', found: '/nowhere: no such file or folder' },
    ]);
    const readme = await doctor('README.md', '--port', '0');
    expect(readme.of('model')).toMatchObject([
      { status: 'problem', found: expect.stringContaining('README.md') },
    ]);
  });

  it('prints a table, with the remedy below each problem', async () => {
    const port = String(await occupiedPort());
    const { code, stdout } = await flinch(['doctor', '--port', port]);
    expect(code).toBe(1);
    const coloured = await flinch(['doctor', '--port', port], '', { FORCE_COLOR: '3' });
    expect(coloured.stdout).toContain('\x1b[32mok     \x1b[39m  configuration ');
    expect(stdout).toMatch(/^ok {7}configuration /m);
    expect(stdout).toMatch(
      new RegExp(
        `^problem {2}port 127\\.0\\.0\\.1:${port} .* is in use by another program.*\n +→ flinch serve --port \\d+$`,
        'm',
      ),
    );
  });

  it('knows flinch itself on its port', async () => {
    const { url } = await useTestGateway({});
    const { healthy, of } = await doctor('--port', new URL(url).port);
    expect(healthy).toBe(true);
    expect(of('port')).toMatchObject([
      { status: 'warning', found: 'flinch answers there already', remedy: 'flinch serve --port 0' },
    ]);
  });

  it.each([
    [
      'a configuration that is refused',
      'listen: {prot: 1}\n',
      /flinch\.yaml:1: listen\.prot: .*did you mean port/,
    ],
    ['no YAML', 'listen: {', /flinch\.yaml:1:/],
  ])('says what serve says of %s', async (_, text, said) => {
    const { healthy, of } = await doctor('--config', folder.write('flinch.yaml', text));
    expect(healthy).toBe(false);
    expect(of('configuration')).toMatchObject([{ status: 'problem', found: expect.stringMatching(said) }]);
  });

  it('has a remedy for each key, and for a gateway that is open to others', async () => {
    const file = folder.write('key', 'a key of 16 characters\n');
    chmodSync(file, 0o644);
    const keys = [
      { name: 'a', env: 'NO_KEY' },
      { name: 'b', key_file: '/no/key' },
      { name: 'c', key_file: file },
    ];
    const { of } = await withConfig({ access: { keys } });
    expect(of('access')).toMatchObject([
      { of: 'a', status: 'problem', remedy: 'export NO_KEY="$(openssl rand -base64 32)"' },
      { of: 'b', status: 'problem', remedy: '(umask 077 && openssl rand -base64 32 > /no/key)' },
    ]);
    expect(of('secrets')).toMatchObject([{ status: 'warning', remedy: `chmod 600 ${file}` }]);
    const open = await doctor('--host', '0.0.0.0', '--port', '0');
    expect(open.of('access')).toMatchObject([{ status: 'problem', remedy: expect.stringContaining('keys') }]);
  });

  it('has a remedy for models that are missing, too large, or not calibrated', async () => {
    const missing = { checkpoint: 'Qwen/Qwen2.5-0.5B-Instruct' };
    const large = { checkpoint: REASONER, memory: 1000 };
    const uncalibrated = { checkpoint: REASONER, calibration: '/no/calibration.json' };
    const { of } = await withConfig({ models: { missing, large, uncalibrated } });
    const [first] = of('model');
    expect(first).toMatchObject({
      of: 'missing',
      status: 'problem',
      remedy: `flinch pull ${missing.checkpoint}`,
    });
    const [tight] = of('memory');
    expect(tight).toMatchObject({
      of: 'large',
      status: 'problem',
      found: expect.stringContaining('more than fits'),
      remedy: expect.stringContaining('a smaller model'),
    });
    expect(of('calibration').at(-1)).toMatchObject({
      of: 'uncalibrated',
      status: 'problem',
      remedy: `flinch calibrate --model ${shellWord(REASONER)} --output /no/calibration.json`,
    });
  });

  it('says what upstreams can do, and why they cannot be used', async () => {
    const good = await scriptedUpstream(vllmDouble({ answer: [' a'] }));
    const silent = await scriptedUpstream((_, reply) =>
      reply.head().last({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] }),
    );
    const locked = await scriptedUpstream((_, reply) => reply.json(401, { error: { message: 'no' } }));
    const models = Object.fromEntries(
      Object.entries({
        good: good.url,
        silent: silent.url,
        locked: locked.url,
        gone: 'http://127.0.0.1:9/v1',
      }).map(([name, url]) => [name, { upstreams: [{ url }] }]),
    );
    const { of } = await withConfig({ models });
    const named = (name: string) => of('upstream').find((finding) => finding.of === name);
    expect(named('good')).toMatchObject({
      status: 'ok',
      remedy: null,
      found: `${good.url}: answers; log-probabilities with 2 alternatives; ids of tokens as vLLM tells them; goes on with a text by its tokens`,
    });
    expect(named('locked')).toMatchObject({
      status: 'problem',
      found: expect.stringContaining('upstream_unauthorized'),
      remedy: 'models.locked.upstreams[0].key_env: the variable with the key of this server',
    });
    expect(named('gone')).toMatchObject({
      status: 'problem',
      found: expect.stringContaining('ECONNREFUSED'),
      remedy: expect.stringContaining('curl http://127.0.0.1:9/v1/models'),
    });
    expect(named('silent')).toMatchObject({
      status: 'warning',
      found: expect.stringContaining('no log-probabilities'),
      remedy: expect.stringContaining('models.silent.scorer: '),
    });
  });

  it.skipIf(!hasRedis)(
    'asks Redis, and does not show its password',
    async () => {
      const redis = await RedisServer.start();
      onTestFinished(() => redis.kill());
      expect((await withConfig({ state: { url: redis.url } })).of('redis')).toMatchObject([{ status: 'ok' }]);
      const { of } = await withConfig({ state: { url: 'redis://:hunter2@127.0.0.1:9' } });
      expect(of('redis')).toMatchObject([
        { status: 'problem', remedy: expect.stringContaining('redis-cli') },
      ]);
      expect(JSON.stringify(of('redis'))).not.toContain('hunter2');
    },
    30_000,
  );
});
