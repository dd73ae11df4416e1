import { cp, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { flinch, useFolder } from '../support/cli.js';
import { checkpointFolder } from '../support/golden.js';

const folder = useFolder();

it('flinch export triton writes a repository once, with links to the weights', async () => {
  const [model, output] = [folder.path('model'), folder.path('repository')];
  await cp(checkpointFolder('tiny-llama'), model, { recursive: true });
  const run = () => flinch(['export', 'triton', model, '--output', output, '--name', 'm'], '');
  const { code, stdout } = await run();
  expect(code).toBe(0);
  expect(stdout).toBe(
    `${output}: m_sequence, m_score, m_forward; weights are linked\n` +
      `${join(model, 'server-scores.json')}: scores that the server must compute as well\n`,
  );
  expect((await readdir(output)).sort()).toEqual(['m_forward', 'm_score', 'm_sequence']);
  expect((await stat(join(model, 'model-00001-of-00002.safetensors'))).nlink).toBe(4);
  const config = await readFile(join(output, 'm_score/config.pbtxt'), 'utf8');
  expect(config).toMatch(/^name: "m_score"\nbackend: "onnxruntime"\nmax_batch_size: 0\n/);
  const again = await run();
  expect(again.code).toBe(1);
  expect(again.stderr).toContain(`--output: ${join(output, 'm_sequence')} is there already`);
});
