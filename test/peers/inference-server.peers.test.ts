import { execFile, spawn } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { pythonOf } from '#lab/peers/peers-folder.js';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { SERVED_GRAPH_NAMES, STATELESS_GRAPHS, servedName } from '#src/engine/server/served-graphs.js';
import { writeTritonRepository } from '#src/engine/server/write-repository.js';
import { Engine, scoreResponse } from '#src/index.js';
import { useFolder } from '../support/cli.js';
import { checkpointFolder, goldenCases, scoreErrors } from '../support/golden.js';
import { InferenceServerDouble } from '../support/inference-server-double.js';
import { needs } from '../support/peers.js';

const python = pythonOf('kserve');
const { missing, reason } = needs(python);
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const modelsOf = (graphs: typeof SERVED_GRAPH_NAMES) => graphs.map((graph) => servedName('m', graph)).sort();

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
      expect(Object.keys(Object(shapes))).toEqual(modelsOf(SERVED_GRAPH_NAMES));
      expect(shapes).toMatchObject({
        m_score: { logprob: [1], top_ids: [1, 5] },
        m_sequence: { held: [1] },
      });
    } finally {
      await double.close();
    }
  });

  it('onnxruntime 1.27 runs the graph with a state, whose first content does not matter', async () => {
    const program = `
import sys, numpy as np, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
runs = []
for garbage in (0.0, np.nan):
    feeds = {}
    for v in session.get_inputs():
        size = [1 if v.name.startswith(("key.", "value.")) else 0 if v.name.startswith(("past_", "lead_")) else 1 if isinstance(d, str) else d for d in v.shape]
        size = [d if isinstance(d, int) else s for d, s in zip(v.shape, size)]
        state = v.name.startswith(("key.", "value."))
        feeds[v.name] = np.full(size, garbage if state else 0, np.float32 if v.type == "tensor(float)" else np.int64)
    runs.append(session.run(None, feeds))
assert all(np.isfinite(a).all() and (a == b).all() for a, b in zip(*runs))
print(onnxruntime.__version__)`;
    const graph = join(repository, 'm_sequence', '1', 'model.onnx', 'model.onnx');
    const { stdout } = await promisify(execFile)(python, ['-c', program, graph]);
    expect(stdout).toBe('1.27.0\n');
  });

  it("KServe's server scores as float64 PyTorch does", async () => {
    const [port, grpcPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    const args = [script('inference_server.py'), repository, String(port), String(grpcPort)];
    const server = spawn(python, args, { stdio: 'ignore' });
    let engine: Engine | undefined;
    try {
      const ready = async () => (await fetch(`${url}/v2/health/ready`)).status;
      await expect.poll(() => ready().catch(() => 0), { timeout: 120_000, interval: 500 }).toBe(200);
      expect(Object.keys(Object(await tritonClient(url)))).toEqual(modelsOf(STATELESS_GRAPHS));
      engine = await Engine.open(model, { scoreServers: { urls: [url], model: 'm' } });
      for (const { promptIds, responseIds, alpha, adv, entropy } of goldenCases('tiny-qwen2')) {
        const scoring = {
          methods: ['adversarial', 'entropy'],
          alpha,
          schedule: { kind: 'offline' },
        } as const;
        const { tokens } = await scoreResponse(engine, promptIds, responseIds, scoring);
        const errorsOf = (method: 'adversarial' | 'entropy', expected: readonly number[]) =>
          scoreErrors(
            tokens.map(({ scores }) => scores[method]!),
            expected,
          ).all;
        expect(errorsOf('adversarial', adv)).toBeLessThan(2e-3);
        expect(errorsOf('entropy', entropy)).toBeLessThan(1e-4);
      }
    } finally {
      await engine?.close();
      server.kill();
    }
  });
});
