import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_SCORING, Engine, scoreResponse } from '#src/index.js';
import { REASONER } from '../support/golden.js';
import { mappedFile, processMemory } from '../support/process-memory.js';
import { greedy } from '../support/requests.js';

const told = existsSync('/proc/self/smaps_rollup');
if (!told) console.warn('memory.test.ts is skipped: /proc/PID/smaps is there on Linux only');

describe.skipIf(!told)('the engine processes', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.open(REASONER);
    const generation = await engine.generate(greedy(engine, { maxTokens: 5 }));
    while ((await generation.next()).type !== 'end');
    await scoreResponse(engine, [1, 2, 3], [4, 5, 6], DEFAULT_SCORING);
  });
  afterAll(async () => {
    await engine.close();
  });

  it('map the weights from the file, both of them, and copy nothing', async () => {
    for (const { pid } of [engine.status().decode, engine.status().score]) {
      const weights = await mappedFile(pid!, 'model.safetensors');
      expect(weights?.resident).toBeGreaterThan(0.9 * engine.checkpoint.weightBytes);
      expect(weights?.private).toBe(0);
      const memory = await processMemory(pid!);
      expect(memory!.private).toBeGreaterThan(0);
      expect(memory!.private + memory!.shared).toBeLessThanOrEqual(memory!.resident);
    }
  });
});
