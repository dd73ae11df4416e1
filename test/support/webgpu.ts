import { Engine } from '#src/index.js';
import { checkpointFolder } from './golden.js';

const HOW_TO_GET_ONE =
  'A GPU with a Vulkan driver is one, and so is mesa-vulkan-drivers 25; on Debian 12: apt-get install -t bookworm-backports mesa-vulkan-drivers';

/**
 * Whether WebGPU finds an adapter, asked once for a test file. Any other failure is the tests' own matter.
 */
export async function hasAdapter(file: string): Promise<boolean> {
  const engine = await Engine.open(checkpointFolder('tiny-llama'), { device: 'webgpu' });
  try {
    await engine.start(['decode']);
    return true;
  } catch (error) {
    if (!/Failed to get a WebGPU adapter/.test(String(error))) throw error;
    console.warn(`${file} is skipped: no WebGPU adapter. ${HOW_TO_GET_ONE}`);
    return false;
  } finally {
    await engine.close();
  }
}
