import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part, Workshop } from './part.js';
import { FIXED, findPython, runUv, uvParts } from './uv.js';
import { ENVIRONMENTS, type EnvironmentName, NEWEST, OVERRIDES, PYTHON_OF } from './versions.js';

/** Modules that an environment must be able to import. */
const MODULES: Readonly<Record<EnvironmentName, readonly string[]>> = {
  tools: ['gguf', 'safetensors.numpy', 'tokenizers'],
  vllm: ['vllm.version', 'transformers', 'gguf', 'onnxscript'],
  litellm: ['litellm'],
  // Its messages and those of tritonclient.grpc cannot be in one process.
  kserve: ['kserve', 'tritonclient.http', 'onnxruntime'],
  // The import of its application makes a database.
  'open-webui': ['open_webui', 'socketio', 'torch'],
  phoenix: ['phoenix'],
  schemathesis: ['schemathesis'],
  polygraph: ['lm_polygraph'],
  uqlm: ['uqlm'],
  // `thinkbooster` itself is a namespace: its import says nothing.
  thinkbooster: ['thinkbooster.scorers.step_scorer_uncertainty'],
};

/** A Python environment with the versions of versions.ts. */
export function environment(name: EnvironmentName): Part {
  const requirements = ENVIRONMENTS[name].join('\n');
  return {
    path: `environments/${name}`,
    version: () => [NEWEST, requirements, ...OVERRIDES].join('\n'),
    needs: uvParts,
    make: async (target, workshop) => {
      // Relocatable: it is moved to its place when it is whole.
      const python = await findPython(workshop, PYTHON_OF[name]);
      await runUv(workshop, ['venv', '--no-project', '--relocatable', '--python', python, target]);
      const [required, overrides] = [join(target, 'requirements.txt'), join(target, 'overrides.txt')];
      writeFileSync(required, `${requirements}\n`);
      writeFileSync(overrides, `${OVERRIDES.join('\n')}\n`);
      await runUv(workshop, [
        ...['pip', 'install', '--python', join(target, 'bin/python'), ...FIXED],
        ...['--requirements', required, '--overrides', overrides],
      ]);
      workshop.view.line(`importing ${MODULES[name].join(', ')}`);
      await workshop.run(join(target, 'bin/python'), ['-c', `import ${MODULES[name].join(', ')}`]);
    },
  };
}

/** Unpacks packages into a folder without what they ask for, and without running anything of them. */
export async function unpack(packages: readonly string[], folder: string, workshop: Workshop): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const python = await findPython(workshop);
  const how = ['--no-deps', '--no-build', '--python', python, '--target', folder];
  await runUv(workshop, ['pip', 'install', ...how, ...FIXED, ...packages]);
}
