import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type Running, start, useFolder } from '../support/cli.js';
import { chatBody, post, sseData } from '../support/gateway.js';
import { REASONER } from '../support/golden.js';
import { Scrape } from '../support/metrics.js';
import { LONG_QUESTION } from '../support/requests.js';

const folder = useFolder();
const running: Running[] = [];
afterEach(() => {
  for (const { child } of running.splice(0)) child.kill('SIGKILL');
});

const MODELS = `models:\n  reasoner:\n    checkpoint: ${REASONER}\n`;

function serving(text: string, ...options: readonly string[]) {
  const file = folder.write('flinch.yaml', text);
  const server = start(['serve', '--config', file, '--port', '0', ...options], null);
  running.push(server);
  const url = (): string => /http:\/\/[\d.:]+/.exec(server.stdout())?.[0] ?? '';
  return {
    ...server,
    url,
    ready: () => expect.poll(url).not.toBe(''),
    /** Changes the file, and waits until the process has said this. */
    reload: async (changed: string, said: string) => {
      const before = server.stderr().length;
      folder.write('flinch.yaml', changed);
      server.child.kill('SIGHUP');
      await expect.poll(() => server.stderr().slice(before)).toContain(said);
    },
  };
}

const guardOf = async (url: string): Promise<unknown> => {
  const answer = await post(url, chatBody({ max_tokens: 1 }));
  const { flinch }: { readonly flinch: { readonly guard: unknown } } = JSON.parse(await answer.text());
  return flinch.guard;
};

describe('flinch serve, on SIGHUP', () => {
  it('takes over the policies and keys of the file, and drops no stream', async () => {
    const slow = 'methods: [random], scoring: {block: 1, window: all}';
    const { url, ready, reload, stderr } = serving(
      `${MODELS}guard: {defaults: {rate: 0.1, ${slow}}, locked: all}\n`,
    );
    await ready();
    expect(await guardOf(url())).toMatchObject({ policy: 'gateway', rate: 0.1 });

    const question = { messages: [{ role: 'user', content: LONG_QUESTION }], stream: true };
    const streaming = sseData(await post(url(), chatBody({ ...question, max_tokens: 100 })));
    const first = JSON.parse((await streaming.next()).value ?? '');
    expect(first).toMatchObject({ flinch: { guard: { policy: 'gateway', rate: 0.1 } } });

    await reload(
      `${MODELS}    guard: {name: calm, defaults: {rate: 0.2}}\nlimits: {body_bytes: 2000}\n`,
      'changed fields take effect after a restart',
    );
    expect(stderr()).toContain('"fields":["limits.body_bytes"]');
    expect(await guardOf(url())).toMatchObject({ policy: 'calm', rate: 0.2 });
    expect((await post(url(), chatBody({ max_tokens: 1, guard: { enabled: false } }))).status).toBe(200);

    expect((await Scrape.of(`${url()}/metrics`)).sum('flinch_active_generations')).toBe(1);
    const rest: string[] = [];
    for await (const data of streaming) rest.push(data);
    expect(rest.at(-1)).toBe('[DONE]');

    await reload(
      `${MODELS}guard:\n  bounds: {min_rate: 0.5}\n  defaults: {rate: 0.1}\n`,
      'configuration refused',
    );
    expect(stderr()).toMatch(/"reason":"[^"]*flinch\.yaml:6: guard\.defaults\.rate: 0\.1 is below 0\.5/);
    expect(stderr()).not.toContain('"stack"');
    expect(await guardOf(url())).toMatchObject({ policy: 'calm', rate: 0.2 });
    const scrape = await Scrape.of(`${url()}/metrics`);
    const reloads = ['accepted', 'refused'].map((result) =>
      scrape.sum('flinch_config_reloads_total', { result }),
    );
    expect([...reloads, scrape.sum('flinch_config_last_reload_successful')]).toEqual([1, 1, 0]);
  });

  it('refuses what is no file, and takes the next change over', async () => {
    const { url, ready, reload, stderr } = serving(MODELS);
    await ready();
    const keyed = (file: string) => `${MODELS}access: {keys: [{name: web, key_file: ${file}}]}\n`;
    const pipe = folder.path('pipe');
    execFileSync('mkfifo', [pipe]);
    const of = async () => (await Scrape.of(`${url()}/metrics`)).sum('flinch_config_last_reload_successful');
    await reload(keyed(pipe), 'configuration refused');
    expect(stderr()).toContain(
      `access.keys[0].key_file: the file ${pipe} cannot be read (is not a regular file)`,
    );
    expect(await of()).toBe(0);
    await reload(`${MODELS}# changed\n`, 'configuration reloaded');
    expect(await of()).toBe(1);
    await reload(keyed(folder.write('link.key', 'first-0123456789abcdef\n')), 'configuration reloaded');
    expect((await fetch(`${url()}/v1/models`)).status).toBe(401);
  });

  it('serves while thousands of keys are read', async () => {
    const { url, ready, child, stderr } = serving(MODELS);
    await ready();
    const key = (i: number) =>
      `    - {name: k${i}, sha256: f${i.toString(16).padStart(63, '0')}, guard: {name: p${i}}}\n`;
    folder.write(
      'flinch.yaml',
      `${MODELS}access:\n  keys:\n${Array.from({ length: 4000 }, (_, i) => key(i)).join('')}`,
    );
    child.kill('SIGHUP');
    let [answered, longest, at] = [0, 0, performance.now()];
    const begun = at;
    while (!/configuration re(loaded|fused)/.test(stderr())) {
      await fetch(`${url()}/livez`);
      answered += 1;
      longest = Math.max(longest, performance.now() - at);
      at = performance.now();
    }
    expect(stderr()).toContain('configuration reloaded');
    // One answer would take all of it where the file is read in the process that serves.
    expect(answered).toBeGreaterThan(20);
    expect(longest).toBeLessThan(0.5 * (at - begun));
  });

  it('reads the file again when it or a key changes, with --watch', async () => {
    const key = folder.write('web.key', 'first-0123456789abcdef\n');
    const text = (rate: number) =>
      `${MODELS}guard: {defaults: {rate: ${rate}}}\naccess: {keys: [{name: web, key_file: ${key}}]}\n`;
    const { url, ready, stderr } = serving(text(0.1), '--watch');
    await ready();
    expect(stderr()).toMatch(/web\.key.*other users may read this file with secrets/);
    const statusOf = async (given: string) =>
      (await fetch(`${url()}/v1/models`, { headers: { Authorization: `Bearer ${given}` } })).status;
    expect(await statusOf('first-0123456789abcdef')).toBe(200);
    folder.write('web.key', 'second-0123456789abcdef\n');
    await expect.poll(() => statusOf('second-0123456789abcdef')).toBe(200);
    expect(await statusOf('first-0123456789abcdef')).toBe(401);
    folder.write('flinch.yaml', text(2));
    await expect.poll(stderr).toContain('configuration refused');
    expect(stderr()).toMatch(/flinch\.yaml:4: guard\.defaults\.rate: /);
  });

  it.skipIf(platform() !== 'linux')('survives one that comes while its models are being opened', async () => {
    const { child, ready, stderr } = serving(MODELS);
    const engines = () => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
    while (engines() === '') await setTimeout(5);
    child.kill('SIGHUP');
    await ready();
    await expect.poll(stderr).toContain('configuration reloaded');
  });
});
