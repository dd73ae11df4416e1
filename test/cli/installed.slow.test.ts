import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startScript, useFolder } from '../support/cli.js';
import { installPackages, readManifest } from '../support/installed-packages.js';

/** What only other packages of this repository need, by their folder. */
const NOT_OF_FLINCH = {
  bench: ['graphology', 'ml-kmeans', '@cortex-js/compute-engine', 'openai'],
  redis: ['@redis/client'],
};

const alone = useFolder().path('');
const withRedis = useFolder().path('');
const withBench = useFolder().path('');

/** Runs the installed command as a user does, not from the sources. */
const run = (folder: string, ...args: string[]) =>
  startScript(join(folder, 'node_modules/flinch/dist/cli/main.js'), args).finished;

/** Asks for a Redis that need not be there. */
function checkState(folder: string) {
  const file = join(folder, 'state.json');
  writeFileSync(file, '{"state": {"url": "redis://127.0.0.1:6379"}}');
  return run(folder, 'serve', '--check-config', '--config', file);
}

/** The line that says how to install a package that is not on the registry: pack it, and install the file. */
const howToInstall = (name: string): RegExp =>
  new RegExp(`^.*: npm pack --workspace ${name}\\. .*: npm install CLONE/${name}-\\*\\.tgz\n$`);

describe('flinch and flinch-client, installed from their tarballs', () => {
  beforeAll(() => installPackages(alone, ['client', '.']));

  it.each(Object.entries(NOT_OF_FLINCH))('does without the packages of %s', (folder, names) => {
    for (const name of names) {
      expect(existsSync(join(alone, 'node_modules', name)), name).toBe(false);
      expect(Object.keys(readManifest(folder).dependencies)).toContain(name);
    }
  });

  it('has help, and checks the embedded model', async () => {
    expect(await run(alone, '--help')).toMatchObject({ code: 0, stderr: '' });
    const outcome = await run(alone, 'doctor', '--port', '0');
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toContain('llama');
  });

  it('answers with the embedded model', async () => {
    const outcome = await run(alone, 'chat', '--json', 'What is 12 + 30 - 5?');
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toContain('37');
  });

  it.each(['bench', 'data'])('says in one line how to install `flinch %s`', async (command) => {
    const { code, stdout, stderr } = await run(alone, command);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(howToInstall('flinch-bench'));
  });

  it('says in one line how to install what `state` needs', async () => {
    const { code, stdout, stderr } = await checkState(alone);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(howToInstall('flinch-redis'));
  });

  it('exports its entries', async () => {
    const names = ['', '/gateway', '/client', '/internals', '/state'];
    const program = join(alone, 'program.js');
    writeFileSync(
      program,
      `for (const name of ${JSON.stringify(names)})
        console.log(name, Object.keys(await import('flinch' + name)).length > 5);`,
    );
    const stdout = names.map((name) => `${name} true\n`).join('');
    expect(await startScript(program, []).finished).toMatchObject({ code: 0, stdout, stderr: '' });
  });
});

/** Of a package, for npm. */
function checkFiles(folder: string, name: string): void {
  const files = readdirSync(join(folder, 'node_modules', name), { recursive: true, encoding: 'utf8' });
  expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
  expect(files.filter((file) => /\.map$|\.tsbuildinfo$|node_modules/.test(file))).toEqual([]);
}

describe('flinch-redis, installed next to flinch', () => {
  beforeAll(() => installPackages(withRedis, ['client', '.', 'redis']));

  it('has a licence, a README and no maps', () => checkFiles(withRedis, 'flinch-redis'));

  it('is what `state` needs', async () => {
    expect(await checkState(withRedis)).toMatchObject({ code: 0, stderr: '' });
  });

  it('looks for the Redis', async () => {
    const program = join(withRedis, 'program.js');
    writeFileSync(
      program,
      `import { Models, startGateway } from 'flinch/gateway';
      const state = { url: 'redis://127.0.0.1:1' };
      const gateway = await startGateway({ models: new Models([]), config: { listen: { port: 0 }, state } });
      console.log((await (await fetch(\`\${gateway.url}/healthz\`)).json()).state);
      await gateway.close();`,
    );
    expect(await startScript(program, []).finished).toMatchObject({ code: 0, stdout: '{ up: false }\n' });
  });
});

describe('flinch-bench, installed next to flinch', () => {
  beforeAll(() => installPackages(withBench, ['client', '.', 'bench']));

  it.each(['flinch', 'flinch-client', 'flinch-bench'])('is like %s: licence, README, no maps', (name) =>
    checkFiles(withBench, name),
  );

  it('adds `flinch bench` and `flinch data`', async () => {
    const help = await run(withBench, 'bench', '--help');
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('run ');
    const list = await run(withBench, 'data', 'list');
    expect(list).toMatchObject({ code: 0 });
    expect(list.stdout).toContain('gsm8k');
  });

  it('evaluates the embedded model', async () => {
    const args = ['--suite', 'tasks', '--limit', '2', '--measures', 'nll', '--out', join(withBench, 'run')];
    const outcome = await run(withBench, 'bench', 'run', ...args);
    expect(outcome).toMatchObject({ code: 0 });
    expect(outcome.stdout).toContain('2 problems: 2 right');
  });
});
