import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { download, sha256 } from '#src/files/download.js';
import { UsageError } from '#src/files/file-errors.js';
import type { Part, Workshop } from './peer-part.js';
import { environment } from './python.js';
import { findSource } from './source.js';
import { LLAMA_CPP, NODE_LLAMA_CPP } from './versions.js';

const FLAGS = [
  '-DCMAKE_BUILD_TYPE=Release',
  '-DBUILD_SHARED_LIBS=OFF',
  '-DGGML_NATIVE=ON',
  '-DLLAMA_BUILD_TESTS=OFF',
  '-DLLAMA_BUILD_EXAMPLES=OFF',
  '-DLLAMA_BUILD_UI=OFF',
  '-DLLAMA_USE_PREBUILT_UI=OFF',
  '-DLLAMA_OPENSSL=OFF',
];

const tools = environment('tools');

/** `llama-server`, built of the sources that llama-cpp-python carries. */
export const llamaCpp: Part = {
  path: 'llama-cpp',
  version: () => [LLAMA_CPP.file, LLAMA_CPP.sha256, ...FLAGS].join('\n'),
  needs: () => [tools],
  make: async (target, workshop) => {
    // Kept until the build is done: an interrupted one continues.
    const builds = join(workshop.root, 'builds');
    const sources = join(builds, LLAMA_CPP.file.replace('.tar.gz', ''), 'vendor/llama.cpp');
    const build = join(builds, 'llama.cpp', LLAMA_CPP.sha256.slice(0, 16));
    mkdirSync(builds, { recursive: true });
    await fetchSources(builds, workshop);
    await buildServer(sources, build, workshop);
    mkdirSync(target);
    cpSync(join(build, 'bin/llama-server'), join(target, 'llama-server'));
    cpSync(join(sources, 'LICENSE'), join(target, 'LICENSE'));
    await rm(builds, { recursive: true, force: true });
  },
};

/** Extracts over the files of an interrupted run: files keep their dates, so that nothing is compiled twice. */
async function fetchSources(builds: string, workshop: Workshop): Promise<void> {
  const archive = join(builds, LLAMA_CPP.file);
  if (!existsSync(archive) || (await sha256(archive)) !== LLAMA_CPP.sha256) {
    await download({
      url: await findSource(LLAMA_CPP.project, LLAMA_CPP.file, workshop.signal),
      path: archive,
      mostBytes: LLAMA_CPP.mostBytes,
      verify: async (path) => {
        const digest = await sha256(path);
        if (digest !== LLAMA_CPP.sha256)
          throw new UsageError(`its SHA-256 is ${digest}, expected ${LLAMA_CPP.sha256}`);
      },
      onProgress: (bytes, total) => workshop.progress(LLAMA_CPP.file, bytes, total),
      signal: workshop.signal,
    });
  }
  await workshop.run('tar', ['-xzf', archive, '-C', builds]);
}

async function buildServer(sources: string, build: string, workshop: Workshop): Promise<void> {
  const bin = join(workshop.root, 'environments/tools/bin');
  const [cmake, ninja] = [join(bin, 'cmake'), join(bin, 'ninja')];
  try {
    await workshop.run(
      cmake,
      ['-S', sources, '-B', build, '-G', 'Ninja', `-DCMAKE_MAKE_PROGRAM=${ninja}`, ...FLAGS],
      { hint: compilerHint },
    );
  } catch (error) {
    // CMake remembers a compiler that does not work, also when there is another one.
    await rm(build, { recursive: true, force: true });
    throw error;
  }
  const jobs = String(availableParallelism());
  await workshop.run(cmake, ['--build', build, '--target', 'llama-server', '--parallel', jobs], {
    hint: compilerHint,
    onLine: (line) => {
      const [, done, all] = /^\[(\d+)\/(\d+)\]/.exec(line) ?? [];
      if (all) workshop.progress('compiling llama.cpp', Number(done), Number(all));
    },
  });
}

/** The compiler is the one thing that no package brings along. */
const compilerHint = (output: string): string | undefined =>
  /CMAKE_(C|CXX)_COMPILER|not able to compile a simple test program/.test(output)
    ? 'A C and a C++ compiler are needed that work: on Debian "apt-get install g++", on macOS "xcode-select --install".'
    : undefined;

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
    await workshop.run('npm', [
      ...['install', '--prefix', target, '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund'],
      ...packages.map((name) => `${name}@${NODE_LLAMA_CPP}`),
    ]);
  },
};
