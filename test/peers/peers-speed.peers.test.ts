import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { checkpointOf, ggufOf, llamaServer, nodeLlamaFolder } from '#lab/peers/folder.js';
import { script } from '#lab/peers/part.js';
import { SHAPES } from '#lab/speed/random-checkpoint.js';
import { writeRandomGguf } from '#lab/speed/random-gguf.js';
import { Engine } from '#src/index.js';
import { lab, useFolder } from '../support/cli.js';
import { greedyIds } from '../support/golden-tests.js';
import { needs } from '../support/peers.js';

const smollm2 = needs(llamaServer(), ggufOf('smollm2'), checkpointOf('smollm2'));
const llama = needs(nodeLlamaFolder());
const qwen = needs(nodeLlamaFolder(), ggufOf('qwen-0.5b'));
const { path } = useFolder();

interface Row {
  readonly name: string;
  readonly reference: string;
  readonly results: readonly Result[];
}

interface Result {
  readonly streams: number;
  readonly promptTokens: number;
  readonly firstSeconds: readonly number[];
  readonly tokensPerSecond: readonly number[];
  readonly memoryBytes: readonly number[];
  readonly ratios: readonly number[];
}

async function measured(model: string, options: readonly string[]): Promise<Row[]> {
  const output = path(`${model}.json`);
  const { code, stderr } = await lab(['peers-speed', model, ...options, '--output', output]);
  expect(stderr).not.toContain('flinch:');
  expect(code).toBe(0);
  const { models } = JSON.parse(await readFile(output, 'utf8'));
  expect(models).toMatchObject([{ model }]);
  return models[0].rows;
}

const one = '1 thread';
const all = availableParallelism() > 1 ? [`${availableParallelism()} threads`] : [];

describe('npm run lab -- peers-speed', () => {
  it.skipIf(smollm2.missing)(`measures flinch beside a server${smollm2.reason}`, async () => {
    const rows = await measured('smollm2', ['--peers', 'llama-q4', '--tokens', '8', '--rounds', '2']);
    expect(rows.map(({ name }) => name).at(-1)).toBe('llama.cpp, Q4_1');
    expect(rows).toHaveLength(5);
    for (const { name, results } of rows) {
      for (const { firstSeconds, tokensPerSecond, memoryBytes, ratios } of results) {
        // The weights alone: 92 MB in Q4_1, 538 MB in fp32.
        expect(Math.min(...memoryBytes), name).toBeGreaterThan(name.includes('Q4_1') ? 90e6 : 500e6);
        expect(tokensPerSecond).toHaveLength(2);
        expect(Math.min(...firstSeconds, ...tokensPerSecond, ...ratios), name).toBeGreaterThan(0);
      }
    }
    // The first row is what the others are compared with.
    expect(rows[0]!.results[0]!.ratios).toEqual([1, 1]);
  });

  it.skipIf(llama.missing)(`measures flinch and llama.cpp with one file${llama.reason}`, async () => {
    const options = ['--peers', 'llama', '--formats', 'Q8_0', '--tokens', '8', '--rounds', '1'];
    const rows = await measured('small', options);
    expect(rows.map(({ name, results }) => [name, results.length])).toEqual([
      ['flinch, Q8_0 in int8, no scores', 3],
      ['flinch, Q8_0 in int8, default scores', 3],
      ['flinch, Q8_0 in int8, with Adv. Pert.', 3],
      ...[one, ...all].map((threads) => [`llama.cpp, Q8_0, ${threads}`, 3]),
      ['flinch, offline scores of a text', 1],
    ]);
    expect(rows[0]!.reference).toBe('llama.cpp, Q8_0, 1 thread');
    expect(rows[3]!.results.map(({ ratios }) => ratios)).toEqual([[1], [1], [1]]);
  });

  it.skipIf(qwen.missing)(`measures a model that reasons beside llama.cpp${qwen.reason}`, async () => {
    const rows = await measured('qwen-0.5b', ['--tokens', '8', '--rounds', '1', '--temperature', '0.2']);
    expect(rows.map(({ name }) => name)).toEqual([
      ...['flinch, no scores', 'flinch, default scores', 'flinch, with Adv. Pert.'],
      ...[one, ...all].map((threads) => `llama.cpp, ${threads}`),
    ]);
    for (const { name, reference, results } of rows) {
      expect(reference).toBe('llama.cpp, 1 thread');
      expect(results, name).toMatchObject([{ streams: 1, promptTokens: 84 }]);
      // The file has 491 MB, nearly all of it needed for every token.
      expect(results[0]!.memoryBytes[0], name).toBeGreaterThan(450e6);
    }
  });

  it.skipIf(llama.missing)(`reads the same model as llama.cpp${llama.reason}`, async () => {
    const file = path('same.gguf');
    await writeRandomGguf(file, SHAPES.small, { format: 'F32', seed: 3 });
    const prompt = [1000, 2000, 3000, 17];
    const child = fork(script('node_llama.js'), [nodeLlamaFolder(), file, '1'], { execArgv: [] });
    await once(child, 'message');
    child.send({ prompts: [prompt], tokens: 12, positions: 16 });
    const [{ answers }] = await once(child, 'message');
    child.disconnect();
    const [{ ids, tokens, end }] = answers;
    expect(tokens).toEqual(tokens.toSorted((a: number, b: number) => a - b));
    expect([tokens.length, tokens.at(-1)]).toEqual([12, end]);
    const engine = await Engine.open(file);
    try {
      expect(ids).toEqual(await greedyIds(engine, prompt, 12));
    } finally {
      await engine.close();
    }
  });
});
