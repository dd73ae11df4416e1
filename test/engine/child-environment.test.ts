import { describe, expect, it } from 'vitest';
import { childEnvironment } from '#src/engine/child-environment.js';

describe('the environment of an engine process', () => {
  it('has what Node, the loader and the drivers look for', () => {
    const env = {
      PATH: '/usr/bin',
      HOME: '/root',
      NODE_OPTIONS: '--conditions=flinch-source',
      LD_LIBRARY_PATH: '/usr/local/cuda/lib64',
      CUDA_VISIBLE_DEVICES: '1',
      NVIDIA_VISIBLE_DEVICES: 'all',
      XDG_DATA_DIRS: '/usr/share',
      VK_DRIVER_FILES: '/etc/vulkan/icd.json',
      LC_ALL: 'C',
      SystemRoot: 'C:\\Windows',
    };
    expect(childEnvironment(env)).toEqual(env);
  });

  it('has no keys, whoever they are for', () => {
    const secrets = {
      FLINCH_WEB_KEY: 'a',
      OPENAI_API_KEY: 'b',
      VLLM_KEY: 'c',
      NVIDIA_API_KEY: 'd',
      NODE_AUTH_TOKEN: 'e',
      AWS_SECRET_ACCESS_KEY: 'f',
      UV_INDEX_URL: 'https://user:password@host',
      ORT_TOKEN: 'g',
      DATABASE_URL: 'postgres://user:password@host',
      FLINCH_MODELS: '{}',
    };
    expect(childEnvironment(secrets)).toEqual({});
  });
});
