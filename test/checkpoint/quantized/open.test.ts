import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { checkModel, openCheckpoint, readCheckpoint } from '#src/checkpoint/checkpoint.js';
import type { Conversion } from '#src/checkpoint/conversion.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { runForward } from '#src/engine/child/score-pass.js';
import { runtimeOf } from '#src/engine/child/sequence-run.js';
import { KvCache } from '#src/engine/kv-cache.js';
import { calibrationFileOf } from '#src/risk/calibration-file.js';
import { useFolder } from '../../support/cli.js';
import { largestDifference } from '../../support/golden.js';
import { folder } from '../../support/graphs.js';
import { QUANTIZED, quantizedFiles, tensorParts } from '../../support/quantized.js';

const cache = useFolder();
const { XDG_CACHE_HOME } = process.env;
beforeEach(() => {
  process.env.XDG_CACHE_HOME = cache.path('cache');
});
afterAll(() => {
  if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
});

describe.each(Object.entries(QUANTIZED))('%s', (name, { digests, ids, logprobs }) => {
  it("is unpacked to the bits of its tool, and gives the weights' log-probabilities", async () => {
    const checkpoint = await openCheckpoint(await folder(await quantizedFiles(name)));
    const unpacked = tensorParts(readFileSync(join(checkpoint.quantized!.folder, 'model.safetensors')));
    const found = Object.entries(unpacked).map(([tensor, { data }]) => [
      tensor,
      createHash('sha256').update(data).digest('hex'),
    ]);
    expect(Object.fromEntries(found)).toEqual(digests);

    const session = await new Sessions(checkpoint, { threads: 1 }).get({
      ...{ kind: 'forward', sequences: 1, result: 'statistics' },
    });
    const window = { start: 0, ids: ids.slice(0, -1), targets: ids.slice(1) };
    const [tokens] = await runForward(session, runtimeOf({ source: checkpoint, threads: 1 }), [
      { ...window, cache: new KvCache(checkpoint.config, ids.length) },
    ]);
    const scored = tokens!.map(({ logprob }) => logprob);
    expect(largestDifference(scored, logprobs)).toBeLessThan(2e-5);
  });
});

describe('a folder with quantised weights', () => {
  it('is unpacked once, with progress, beside the weights that are not quantised', async () => {
    process.env.XDG_CACHE_HOME = cache.path('once');
    const dir = await folder(await quantizedFiles('gptq-int4'));
    const seen: Conversion[] = [];
    const checkpoint = await openCheckpoint(dir, { onConversion: (at) => seen.push(at) });
    const { quantized, tensors } = checkpoint;
    expect(seen.at(-1)).toMatchObject({ file: dir, folder: quantized!.folder, written: seen[0]?.total });
    expect(readdirSync(quantized!.folder)).toEqual(['model.safetensors']);
    expect(checkpoint).toMatchObject({ dir, gguf: null, weightBytes: 275328 });
    expect(calibrationFileOf(checkpoint)).toBe(join(dir, 'calibration.json'));
    expect(quantized).toMatchObject({ format: 'gptq (gptq), 4 bits', matrices: [21, 23] });
    expect(tensors.get('lm_head.weight')?.file).toBe(join(dir, 'plain.safetensors'));

    const again = await openCheckpoint(dir, { onConversion: () => expect.unreachable() });
    expect(await fingerprint(again)).toBe(await fingerprint(checkpoint));
    truncateSync(join(quantized!.folder, 'model.safetensors'), 5000);
    const repaired = await openCheckpoint(dir);
    expect(await fingerprint(repaired)).toBe(await fingerprint(checkpoint));
  });

  it('is checked and read without being unpacked', async () => {
    const dir = await folder(await quantizedFiles('awq-int4'));
    process.env.XDG_CACHE_HOME = cache.path('other');
    await checkModel(dir);
    const { tensors, quantized } = await readCheckpoint(dir);
    expect(existsSync(cache.path('other'))).toBe(false);
    expect(quantized?.format).toBe('awq (gemm), 4 bits');
    const name = 'model.layers.0.self_attn.k_proj.weight';
    const { file: _, ...place } = tensors.get(name)!;
    expect(place).toMatchObject({ type: 'fp32', shape: [32, 64] });
    expect((await openCheckpoint(dir)).tensors.get(name)).toMatchObject(place);
  });
});
