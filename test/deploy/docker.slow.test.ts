import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { arch, env, execPath, platform } from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '#gateway/config/load-config.js';
import { checkAccess } from '#gateway/index.js';
import { useFolder } from '../support/cli.js';
import { readManifest } from '../support/installed-packages.js';
import { useTestGateway } from '../support/waiting-gateway.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');
const folder = useFolder();

interface Instruction {
  readonly name: string;
  readonly text: string;
}

interface Stage {
  readonly base: string;
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

/** The instructions before the first stage, and the stages. */
function parseDockerfile(text: string): { args: ReadonlyMap<string, string>; stages: readonly Stage[] } {
  const lines = text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const all = lines.map((line): Instruction => {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return { name, text: rest };
  });
  const starts = all.flatMap(({ name }, i) => (name === 'FROM' ? [i] : []));
  const stages = starts.map((start, i): Stage => {
    const [, base = '', name = ''] = /^(\S+) AS (\S+)$/.exec(all[start]!.text) ?? [];
    return { base, name, instructions: all.slice(start + 1, starts[i + 1]) };
  });
  const args = all.slice(0, starts[0]).map(({ text }): [string, string] => {
    const [name = '', value = ''] = text.split(/=(.*)/s);
    return [name, value];
  });
  return { args: new Map(args), stages };
}

const { args, stages } = parseDockerfile(read('Dockerfile'));
const stage = (name: string): Stage => stages.find((each) => each.name === name)!;
const texts = ({ instructions }: Stage, wanted: string): string[] =>
  instructions.filter(({ name }) => name === wanted).map(({ text }) => text);
const list = (text: string | undefined): string[] => z.array(z.string()).parse(JSON.parse(text ?? ''));
const IMAGES = ['cuda', 'cpu'];

const manifest = z
  .object({
    version: z.string(),
    scripts: z.record(z.string(), z.string()),
    workspaces: z.array(z.string()),
  })
  .parse(JSON.parse(read('package.json')));

/** Whether the build gets a file; the last pattern that fits decides. The file has `*` and plain names alone. */
function sent(path: string): boolean {
  const patterns = read('.dockerignore')
    .split('\n')
    .filter((line) => /^[^#]/.test(line));
  return patterns.reduce((is, line) => {
    const pattern = line.replace('!', '');
    expect(pattern).toMatch(/^(\*|[\w./-]+)$/);
    const fits = pattern === '*' || path === pattern || path.startsWith(`${pattern}/`);
    return fits ? line.startsWith('!') : is;
  }, true);
}

describe('the Dockerfile', () => {
  it('has an image for the CPU, which is the default, and one for CUDA', () => {
    expect(stages.map(({ name }) => name).slice(-2)).toEqual(IMAGES);
    expect(stages.every(({ base, name }) => base !== '' && name !== '')).toBe(true);
  });

  it('begins with images of exact versions', () => {
    for (const [i, { base }] of stages.entries()) {
      const earlier = stages.slice(0, i).some(({ name }) => name === base);
      const image = args.get(/^\$\{(\w+)\}$/.exec(base)?.[1] ?? '');
      if (!earlier && base !== 'scratch') expect(image, base).toMatch(/^[\w/]+:\d+\.\d+\.\d+-[\w.-]+$/);
    }
  });

  it('copies what is there, and what the context has; what it leaves out stays out', () => {
    const copies = stages.flatMap((each) => texts(each, 'COPY'));
    const own = copies.filter((text) => !text.startsWith('--from='));
    const sources = own.flatMap((text) => text.split(' ').slice(0, -1));
    expect(sources.length).toBeGreaterThan(5);
    for (const source of sources) {
      expect(existsSync(join(ROOT, source)), source).toBe(true);
      expect(sent(source), source).toBe(true);
    }
    for (const text of copies.filter((each) => each.startsWith('--from='))) {
      expect(stages.map(({ name }) => name)).toContain(/^--from=(\S+)/.exec(text)?.[1]);
    }
    const inContext = readdirSync(ROOT).filter(sent);
    // What is sent and never copied would have every change of it build anew.
    expect(inContext.filter((name) => !sources.some((source) => source.split('/')[0] === name))).toEqual([]);
    for (const name of ['node_modules', '.git', 'dist', 'client/dist', 'bench', 'test', 'docs', '.env'])
      expect(sent(name)).toBe(false);
  });

  it('installs the client and the back end, not the benchmark, and has what node_modules links to', () => {
    const manifests = stage('manifests');
    expect(texts(manifests, 'COPY').join(' ')).not.toContain('bench');
    for (const name of ['build', 'dependencies']) {
      expect(stage(name).base).toBe('manifests');
      expect(texts(stage(name), 'RUN')[0]).toMatch(/^npm ci /);
    }
    const needed = Object.keys(readManifest('.').dependencies);
    const workspaces = manifest.workspaces.filter((folder) => needed.includes(readManifest(folder).name));
    expect(workspaces).toEqual(['client']);
    const [, backEnds = ''] = /^tsc -b (.+)$/.exec(manifest.scripts['build:back-ends'] ?? '') ?? [];
    workspaces.push(...backEnds.split(' '));
    expect(workspaces).toEqual(['client', 'redis']);
    for (const folder of workspaces) {
      const copy = `${folder}/package.json ${folder}/package.json`;
      expect(texts(manifests, 'COPY')).toContain(copy);
      expect(texts(stage('files'), 'COPY')).toContain(copy);
      expect(texts(stage('files'), 'COPY')).toContain(`--from=build /app/${folder}/dist ${folder}/dist`);
    }
  });

  it('runs scripts that exist, and keeps the libraries of one platform', () => {
    const runs = stages.flatMap((each) => texts(each, 'RUN'));
    const scripts = runs.flatMap((text) => [...text.matchAll(/npm run (\S+)/g)].map(([, name = '']) => name));
    expect(scripts.sort()).toEqual(['build:back-ends', 'build:server', 'setup:cuda']);
    for (const name of scripts) expect(Object.keys(manifest.scripts)).toContain(name);

    const [, prune = ''] = (texts(stage('dependencies'), 'RUN')[0] ?? '').split('&&');
    const libraries = folder.path('node_modules/onnxruntime-node/bin/napi-v6');
    for (const other of ['linux/x64', 'linux/arm64', 'win32/x64', 'darwin/arm64', `${platform}/${arch}`]) {
      mkdirSync(join(libraries, other), { recursive: true });
      writeFileSync(join(libraries, other, 'library'), '');
    }
    execFileSync('sh', ['-c', prune], { cwd: folder.path(''), env: { ...env, NODE_OPTIONS: '' } });
    const left = readdirSync(libraries, { recursive: true }).filter((name) =>
      String(name).endsWith('library'),
    );
    expect(left).toEqual([join(platform, arch, 'library')]);
  });

  it('has libraries for the CUDA of its image', () => {
    const [, major = ''] = /^nvidia\/cuda:(\d+)\./.exec(args.get('CUDA_IMAGE') ?? '') ?? [];
    expect(manifest.scripts['setup:cuda']).toContain(`=cuda${major} `);
    expect(texts(stage('cuda-dependencies'), 'RUN').at(-1)).toContain(`grep -F libcublas.so.${major}`);
  });

  it.each(IMAGES)('%s runs the server itself, as nobody in particular, and says what it is', (name) => {
    const image = stage(name);
    expect(texts(image, 'USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    // As lists: through a shell signals would not come to the server.
    const [entry = ''] = list(texts(image, 'ENTRYPOINT')[0]).slice(1);
    expect(existsSync(entry.replace('/app/', ROOT)), entry).toBe(true);
    const device = name === 'cuda' ? ['--device', 'cuda'] : [];
    expect(list(texts(image, 'CMD')[0])).toEqual(['serve', ...device]);
    const [label = ''] = texts(image, 'LABEL');
    expect(label).toContain(`org.opencontainers.image.version="${manifest.version}"`);
    expect(label).toContain('org.opencontainers.image.licenses="Apache-2.0"');
    expect(texts(image, 'EXPOSE')).toEqual(['8787']);
  });

  it.each(IMAGES)('%s is healthy while the gateway lives', async (name) => {
    const [, command = ''] = (texts(stage(name), 'HEALTHCHECK')[0] ?? '').split(/\bCMD (.*)/);
    const [program = '', ...rest] = list(command);
    expect(program).toBe('node');
    const check = async (port: string): Promise<unknown> => {
      const child = spawn(execPath, rest, { env: { ...env, PORT: '', FLINCH_LISTEN_PORT: port } });
      const [code] = await once(child, 'exit');
      return code;
    };
    const gateway = await useTestGateway();
    const { port } = new URL(gateway.url);
    expect(await check(port)).toBe(0);
    await gateway.close();
    expect(await check(port)).toBe(1);
  });

  it.each(IMAGES)('%s does not start before it is told who may use it', async (name) => {
    const [variables = ''] = texts(stage(name), 'ENV');
    const image = Object.fromEntries(variables.split(' ').map((each) => each.split('=')));
    expect(image).toMatchObject({ NODE_ENV: 'production', FLINCH_LISTEN_HOST: '0.0.0.0' });
    const check = async (variables: NodeJS.ProcessEnv) =>
      checkAccess(await loadConfig({ env: variables }), variables);
    await expect(check(image)).rejects.toThrow('listen.host: 0.0.0.0 is not a loopback address');
    const keys = '[{"name": "web", "env": "WEB_KEY"}]';
    await check({ ...image, FLINCH_ACCESS_KEYS: keys, WEB_KEY: 'a-key-for-these-tests' });
    await check({ ...image, FLINCH_ACCESS_ALLOW_ANONYMOUS: 'true' });
  });
});
