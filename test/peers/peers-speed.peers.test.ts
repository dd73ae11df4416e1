import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { checkpointOf, ggufOf, llamaServer } from '#bench/peers/folder.js';
import { flinch, useFolder } from '../support/cli.js';
import { needs } from '../support/peers.js';

const { missing, reason } = needs(llamaServer(), ggufOf('smollm2'), checkpointOf('smollm2'));
const { path } = useFolder();

describe('flinch bench peers-speed', () => {
  it.skipIf(missing)(`measures flinch beside a server${reason}`, async () => {
    const output = path('speed.json');
    const options = ['--peers', 'llama-q4', '--tokens', '8', '--rounds', '3', '--output', output];
    const { code, stderr, stdout } = await flinch(['bench', 'peers-speed', ...options]);
    expect(stderr).not.toContain('flinch:');
    expect(code).toBe(0);
    expect(stdout).toContain('llama.cpp, Q4_1');
    const { rows } = JSON.parse(await readFile(output, 'utf8'));
    expect(rows).toHaveLength(4);
    for (const { name, memoryBytes, speeds } of rows) {
      // The weights alone: 92 MB in Q4_1, 538 MB in fp32.
      expect(memoryBytes, name).toBeGreaterThan(name.includes('Q4_1') ? 90e6 : 500e6);
      for (const { tokensPerSecond, ratios } of speeds) {
        expect(tokensPerSecond).toHaveLength(3);
        expect(Math.min(...tokensPerSecond, ...ratios), name).toBeGreaterThan(0);
      }
    }
    // The first row is what the others are compared with.
    expect(rows[0].speeds[0].ratios).toEqual([1, 1, 1]);
  });
});
