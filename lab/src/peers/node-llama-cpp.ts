import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from './part.js';
import { NODE_LLAMA_CPP } from './versions.js';

/** Its packages of binaries, by platform and architecture. The others, for GPUs, are ten times as large. */
const BINARIES: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'mac-x64',
  'darwin-arm64': 'mac-arm64-metal',
};

/** llama.cpp as a library for Node, with the binaries of its own packages. */
export const nodeLlamaCpp: Part = {
  path: 'node-llama-cpp',
  version: () => NODE_LLAMA_CPP,
  make: async (target, workshop) => {
    mkdirSync(target);
    // Else npm installs into a folder above.
    writeFileSync(join(target, 'package.json'), '{"private": true}\n');
    const binary = BINARIES[`${process.platform}-${process.arch}`];
    const packages = ['node-llama-cpp', ...(binary === undefined ? [] : [`@node-llama-cpp/${binary}`])];
    workshop.view.line(`installing ${packages.join(' and ')} ${NODE_LLAMA_CPP}`);
    await workshop.run('npm', [
      ...['install', '--prefix', target, '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund'],
      ...packages.map((name) => `${name}@${NODE_LLAMA_CPP}`),
    ]);
  },
};
