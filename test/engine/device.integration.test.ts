import { afterEach, describe, expect, it, vi } from 'vitest';
import { candidates, environmentOf } from '#src/engine/device.js';
import { EngineProcess } from '#src/engine/engine-process.js';
import { Engine, openCheckpoint } from '#src/index.js';
import { checkpointFolder } from '../support/golden.js';

/** Where Vulkan's loader finds no driver, WebGPU finds no adapter. */
function hideVulkan(): void {
  vi.stubEnv('VK_DRIVER_FILES', '/nowhere.json');
  vi.stubEnv('VK_ICD_FILENAMES', '/nowhere.json');
}
afterEach(() => vi.unstubAllEnvs());

describe('devices', () => {
  it('are tried best first by auto, as far as the hardware may be there', () => {
    expect(candidates('auto', { nvidia: true, gpu: true })).toEqual(['cuda', 'webgpu', 'cpu']);
    expect(candidates('auto', { nvidia: false, gpu: true })).toEqual(['webgpu', 'cpu']);
    expect(candidates('auto', { nvidia: false, gpu: false })).toEqual(['cpu']);
  });

  it('are the one that was asked for by name, whatever the hardware', () => {
    expect(candidates('cuda', { nvidia: false, gpu: false })).toEqual(['cuda']);
  });

  it('compute in full fp32, and on real hardware unless asked for by name', () => {
    expect(environmentOf('cuda', true)).toEqual({ NVIDIA_TF32_OVERRIDE: '0' });
    expect(environmentOf('webgpu', false).VK_LOADER_DRIVERS_DISABLE).toContain('lvp');
    expect(environmentOf('webgpu', true)).toEqual({});
    expect(environmentOf('cpu', true)).toEqual({});
  });

  it('are named in the status once they are open, and not before or after', async () => {
    const engine = await Engine.open(checkpointFolder('tiny-llama'));
    expect(engine.status().decode.device).toBeUndefined();
    await engine.start(['decode']);
    expect(engine.status()).toMatchObject({ decode: { device: 'cpu' }, score: { device: undefined } });
    await engine.close();
    expect(engine.status().decode.device).toBeUndefined();
  });
});

// Direct3D and Metal are part of their systems and cannot be hidden.
describe.runIf(process.platform === 'linux')('a device that is not there', () => {
  it.each(['decode', 'score'] as const)('is an error of the %s process with the reason', async (role) => {
    hideVulkan();
    const engine = await Engine.open(checkpointFolder('tiny-llama'), { device: 'webgpu' });
    await expect(engine.start([role])).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/Failed to get a WebGPU adapter.*\n.*needs a GPU with a driver/s),
    });
    await engine.close();
  });

  it('gives way to the next one', async () => {
    hideVulkan();
    const { config, tensors } = await openCheckpoint(checkpointFolder('tiny-llama'));
    const open = {
      type: 'open',
      role: 'decode',
      source: { config, tensors },
      integers: null,
      threads: 1,
      contextLength: 64,
    } as const;
    const started = new EngineProcess(open, ['webgpu', 'cpu']);
    await started.ready();
    expect(started).toMatchObject({ device: 'cpu', restarts: 0 });
    await started.close();
  });
});
