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
    const slow = 'methods: [random], scoring: {block: 1, samples: 4, window: all}';
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
    expect(stderr()).toMatch(/flinch\.yaml:6: guard\.defaults\.rate: 0\.1 is below 0\.5/);
    expect(await guardOf(url())).toMatchObject({ policy: 'calm', rate: 0.2 });
    const scrape = await Scrape.of(`${url()}/metrics`);
    const reloads = ['accepted', 'refused'].map((result) =>
      scrape.sum('flinch_config_reloads_total', { result }),
    );
    expect([...reloads, scrape.sum('flinch_config_last_reload_successful')]).toEqual([1, 1, 0]);
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
