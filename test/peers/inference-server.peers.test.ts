import { execFile, spawn } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { pythonOf } from '#bench/peers/folder.js';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { SERVED_GRAPH_NAMES, servedName } from '#src/engine/server/served-graphs.js';
import { writeTritonRepository } from '#src/engine/triton/write-repository.js';
import { Engine, scoreResponse } from '#src/index.js';
import { useFolder } from '../support/cli.js';
import { freePort } from '../support/free-port.js';
import { checkpointFolder, goldenCases, scoreErrors } from '../support/golden.js';
import { InferenceServerDouble } from '../support/inference-server-double.js';
import { needs } from '../support/peers.js';

const python = pythonOf('kserve');
const { missing, reason } = needs(python);
const script = (name: string) => fileURLToPath(new URL(`../../bench/peers/${name}`, import.meta.url));
const models = SERVED_GRAPH_NAMES.map((graph) => servedName('m', graph)).sort();

describe.skipIf(missing)(`KServe's SDK, tritonclient and onnxruntime 1.27${reason}`, () => {
  const folder = useFolder();
  const [model, repository] = [folder.path('model'), folder.path('repository')];
  beforeAll(async () => {
    await cp(checkpointFolder('tiny-qwen2'), model, { recursive: true });
    await writeTritonRepository(await openCheckpoint(model), { output: repository, name: 'm', threads: 1 });
  });

  /** NVIDIA's client reads every config.pbtxt and the metadata, and runs every model. */
  const tritonClient = async (url: string): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(python, [
      script('triton_client.py'),
      repository,
      new URL(url).host,
    ]);
    return JSON.parse(stdout);
  };

  it("NVIDIA's client understands the repository, and the tests' double of a server", async () => {
    const double = new InferenceServerDouble(repository);
    try {
      const shapes = await tritonClient(await double.listen());
      expect(Object.keys(Object(shapes))).toEqual(models);
      expect(shapes).toMatchObject({ m_score: { logprob: [1], top_ids: [1, 5] } });
    } finally {
      await double.close();
    }
  });

  it("KServe's server scores as float64 PyTorch does", async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const args = [script('inference_server.py'), repository, String(port)];
    const server = spawn(python, args, { stdio: 'ignore' });
    const engine = await Engine.open(model, { scoreServers: { urls: [url], model: 'm' } });
    try {
      const ready = async () => (await fetch(`${url}/v2/health/ready`)).status;
      await expect.poll(() => ready().catch(() => 0), { timeout: 120_000, interval: 500 }).toBe(200);
      expect(Object.keys(Object(await tritonClient(url)))).toEqual(models);
      for (const { promptIds, responseIds, alpha, adv, entropy } of goldenCases('tiny-qwen2')) {
        const scoring = {
          methods: ['adversarial', 'entropy'],
          alpha,
          schedule: { kind: 'offline' },
        } as const;
        const { tokens } = await scoreResponse(engine, promptIds, responseIds, scoring);
        const { all } = scoreErrors(
          tokens.map(({ scores }) => scores.adversarial!),
          adv,
        );
        expect(all).toBeLessThan(2e-3);
        expect(
          scoreErrors(
            tokens.map(({ scores }) => scores.entropy!),
            entropy,
          ).all,
        ).toBeLessThan(1e-4);
      }
    } finally {
      await engine.close();
      server.kill();
    }
  });
});
