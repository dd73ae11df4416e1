import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { script } from '#lab/peers/peer-part.js';
import { ggufOf, nodeLlamaFolder } from '#lab/peers/peers-folder.js';
import { Engine, reasonerPath } from '#src/index.js';
import { lab } from '../support/cli.js';
import { greedyIds } from '../support/golden-tests.js';
import { needs } from '../support/peers.js';

const qwen = needs(nodeLlamaFolder(), ggufOf('qwen-0.5b'));
const reasoner = needs(nodeLlamaFolder(), ggufOf('reasoner'));

it.skipIf(qwen.missing)(`measures a model that reasons beside llama.cpp${qwen.reason}`, async () => {
  const args = ['--tokens', '24', '--rounds', '1', '--temperature', '0.2'];
  const { code, stdout } = await lab(['peers-speed', 'qwen-0.5b', ...args]);
  expect(code).toBe(0);
  const rows = stdout.split('\n').filter((line) => /^\| (flinch|llama)/.test(line));
  expect(rows.length).toBeGreaterThanOrEqual(6);
  for (const row of rows) {
    const cells = row.split('|').map((cell) => cell.trim());
    // The file has 491 MB, nearly all of it needed for every token.
    expect(Number(cells.at(-2)), row).toBeGreaterThan(450);
  }
});

it.skipIf(reasoner.missing)(`llama.cpp writes what flinch writes${reasoner.reason}`, async () => {
  const prompt = [100, 200, 300, 17];
  const child = fork(script('node_llama.js'), [nodeLlamaFolder(), ggufOf('reasoner'), '1'], { execArgv: [] });
  onTestFinished(() => void child.kill());
  await once(child, 'message');
  child.send({ prompt, tokens: 12 });
  const [{ ids, tokens, end }] = await once(child, 'message');
  expect([tokens.length, tokens.at(-1)]).toEqual([12, end]);
  expect(tokens).toEqual(tokens.toSorted((a: number, b: number) => a - b));
  const engine = await Engine.open(reasonerPath);
  onTestFinished(() => engine.close());
  expect(ids).toEqual(await greedyIds(engine, prompt, 12));
});
