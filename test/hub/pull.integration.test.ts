import { randomBytes } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { parseHubModel } from '#src/hub/hub-model.js';
import { hubSettings } from '#src/hub/hub-settings.js';
import { type Need, type PullOptions, pull } from '#src/hub/pull.js';
import { BUFFERED, Endless } from '../support/endless.js';
import { COMMIT, gitHash, type HubAnswer, HubDouble, sha256Of } from '../support/hub-double.js';

const root = mkdtempSync(join(tmpdir(), 'hub-'));
afterAll(() => rmSync(root, { recursive: true }));

const hub = new HubDouble();
await hub.listen();
const weights = randomBytes(200_000);

let cache = '';
let folder = '';
beforeEach(() => {
  cache = mkdtempSync(join(root, 'cache-'));
  folder = join(cache, 'models--tiny--model');
  hub.files.clear();
  for (const name of ['config.json', 'tokenizer.json', 'README.md'])
    hub.files.set(name, Buffer.from(`{"${name}": 1}`));
  hub.files.set('model.safetensors', weights);
  hub.files.set('pytorch_model.bin', randomBytes(5000));
  hub.instead.clear();
  hub.listing = null;
  hub.asked.length = 0;
});

const get = (options: Partial<PullOptions> = {}, model = 'tiny/model') => {
  const env = { HF_ENDPOINT: hub.url, HF_TOKEN: 'hf_secret', HF_HUB_CACHE: cache };
  return pull(parseHubModel(model), { settings: hubSettings(env), retries: 2, retryDelayMs: 1, ...options });
};
const problem = async (options: Partial<PullOptions> = {}, model?: string): Promise<string> =>
  get(options, model).then(
    () => 'none',
    (error: Error) => error.message,
  );
/** What there is of the weights. */
const kept = () => readdirSync(join(folder, 'blobs')).filter((name) => name.startsWith(sha256Of(weights)));
const refuse =
  (status: number, headers: Record<string, string> = {}): HubAnswer =>
  (_, response) =>
    void response.writeHead(status, headers).end();

describe('pull', () => {
  it("brings what flinch reads into the cache of the hub's tools, once", async () => {
    const needs: Need[] = [];
    const pulled = await get({ onStart: (need) => needs.push(need) });
    expect(pulled).toMatchObject({ path: join(folder, 'snapshots', COMMIT), commit: COMMIT, stale: null });
    expect(readdirSync(pulled.path).toSorted()).toEqual([
      'config.json',
      'model.safetensors',
      'tokenizer.json',
    ]);
    expect(readFileSync(join(pulled.path, 'model.safetensors')).equals(weights)).toBe(true);
    expect(readlinkSync(join(pulled.path, 'model.safetensors'))).toBe(`../../blobs/${sha256Of(weights)}`);
    const config = hub.files.get('config.json')!;
    expect(readlinkSync(join(pulled.path, 'config.json'))).toBe(`../../blobs/${gitHash(config)}`);
    expect(readFileSync(join(folder, 'refs/main'), 'utf8')).toBe(COMMIT);
    expect(needs).toMatchObject([{ bytes: pulled.bytes, folder }]);
    expect(readdirSync(join(folder, 'blobs'))).toHaveLength(3);

    hub.asked.length = 0;
    const links = () => readdirSync(pulled.path).map((name) => lstatSync(join(pulled.path, name)).ctimeMs);
    const before = links();
    expect(await get({ onStart: (need) => needs.push(need) })).toMatchObject({ path: pulled.path, bytes: 0 });
    expect(hub.fetched).toEqual([]);
    expect(needs).toHaveLength(1);
    expect(links()).toEqual(before); // another process may read them
  });

  it('shows the token to the hub, and to no other host', async () => {
    await get();
    const tokens = new Map(hub.asked.map(({ path, token }) => [path, token]));
    expect(tokens.get('/api/models/tiny/model/revision/main?blobs=true')).toBe('Bearer hf_secret');
    const elsewhere = hub.asked.filter(({ path }) => path.startsWith('/resolve/'));
    expect(elsewhere).toHaveLength(1);
    expect(elsewhere[0]?.token).toBeUndefined();
  });

  it('goes on where a connection broke, also in a later call', async () => {
    const part = join(folder, 'blobs', `${sha256Of(weights)}.part`);
    const taken = () => existsSync(part) && statSync(part).size > 0;
    const cut = () =>
      hub.instead.set('model.safetensors', [hub.cutAfter('model.safetensors', 120_000, taken)]);
    cut();
    await get();
    expect(hub.asked.some(({ range }) => /^bytes=\d{4,}-$/.test(range ?? ''))).toBe(true);
    rmSync(join(folder, 'blobs'), { recursive: true });
    cut();
    expect(await problem({ retries: 0 })).toContain('model.safetensors');
    expect(taken()).toBe(true);
    hub.asked.length = 0;
    expect((await get()).bytes).toBeGreaterThanOrEqual(weights.length);
    expect(hub.asked.filter(({ range }) => range !== undefined)).not.toHaveLength(0);
  });

  it('keeps no file whose hash is not the one that the hub tells', async () => {
    const siblings = [...hub.files.keys()].map((path) => hub.entryOf(path));
    hub.files.set('model.safetensors', Buffer.concat([weights.subarray(1), Buffer.from('x')]));
    hub.listing = (_, response) => void response.end(JSON.stringify(hub.asListing(siblings)));
    expect(await problem()).toMatch(/model\.safetensors: its hash is [0-9a-f]{64}, and the hub tells/);
    expect(existsSync(join(folder, 'snapshots'))).toBe(false);
    expect(kept()).toEqual([]);
  });

  it.each([
    ['longer', 100, /sends more than 100 bytes/],
    ['shorter', 300_000, /it has 200000 bytes, and the hub tells 300000/],
  ])('keeps no file that is %s than the hub tells', async (_, size, words) => {
    const listed = { ...hub.entryOf('model.safetensors'), lfs: { sha256: sha256Of(weights), size } };
    const others = ['config.json', 'tokenizer.json'].map((path) => hub.entryOf(path));
    hub.listing = (_, response) => void response.end(JSON.stringify(hub.asListing([...others, listed])));
    expect(await problem()).toMatch(words);
    expect(kept()).toEqual([]);
  });

  it('hangs up on a file without an end', async () => {
    const endless = new Endless();
    hub.instead.set('model.safetensors', [endless.answer()]);
    expect(await problem()).toContain('model.safetensors: the server sends more than 200000 bytes');
    expect(endless.bytes).toBeLessThan(BUFFERED);
    expect(hub.fetched.filter((path) => path === 'model.safetensors')).toHaveLength(1);
  });

  it('computes the hashes of cached files again where that is asked for', async () => {
    const { path } = await get();
    const file = join(path, 'model.safetensors');
    const others = Buffer.from(weights).fill(1, 1000, 2000);
    writeFileSync(realpathSync(file), others);
    hub.asked.length = 0;
    expect(await get()).toMatchObject({ bytes: 0 });
    expect(readFileSync(file).equals(others)).toBe(true);
    expect(await get({ verify: true })).toMatchObject({ bytes: weights.length });
    expect(hub.fetched).toEqual(['model.safetensors']);
    expect(readFileSync(file).equals(weights)).toBe(true);
    hub.listing = refuse(503);
    expect(await problem({ verify: true })).toContain('--verify compares with the hub, and tiny/model');
  });

  it('says which shard of the index the model does not have, and what is no index', async () => {
    hub.files.delete('model.safetensors');
    const index = (json: unknown) =>
      void hub.files.set('model.safetensors.index.json', Buffer.from(JSON.stringify(json)));
    index({ weight_map: { a: 'lost.safetensors' } });
    expect(await problem({})).toContain('names lost.safetensors, which the model does not have');
    index({ weight_map: { a: '../outside.safetensors' } });
    await expect(get()).rejects.toThrow(/index\.json.*weight_map\.a: expected a \.safetensors file name/);
  });

  it('takes shards by their index, a revision, and one GGUF file', async () => {
    hub.files.delete('model.safetensors');
    const shards = ['model-00001-of-00002.safetensors', 'model.safetensors-00002-of-00002.safetensors'];
    const weight_map = Object.fromEntries(shards.map((shard, i) => [`tensor${i}`, shard]));
    hub.files.set('model.safetensors.index.json', Buffer.from(JSON.stringify({ weight_map })));
    for (const shard of shards) hub.files.set(shard, randomBytes(2000));
    hub.files.set('consolidated-00001-of-00001.safetensors', randomBytes(2000));
    hub.files.set('q/tiny-Q8_0.gguf', randomBytes(3000));
    const { path } = await get({}, 'tiny/model@refs/pr/1');
    expect(readdirSync(path)).toEqual(expect.arrayContaining(shards));
    expect(readdirSync(path)).not.toContain('consolidated-00001-of-00001.safetensors');
    expect(hub.asked[0]?.path).toContain('/revision/refs%2Fpr%2F1');
    expect(readFileSync(join(folder, 'refs/refs/pr/1'), 'utf8')).toBe(COMMIT);
    const gguf = await get({ gguf: 'q/tiny-Q8_0.gguf' });
    expect(gguf.path).toBe(join(folder, 'snapshots', COMMIT, 'q/tiny-Q8_0.gguf'));
    expect(await problem({ gguf: 'other.gguf' })).toContain(
      'there is no other.gguf; the model has q/tiny-Q8_0.gguf',
    );
  });

  it.each([
    ['GatedRepo', 403, /access on request \("Access to model is restricted"\).*HF_TOKEN/],
    ['RepoNotFound', 401, /is not on the hub, or the token may not read it/],
    ['RevisionNotFound', 404, /has no such revision/],
  ])('says what to do about %s', async (code, status, words) => {
    hub.listing = refuse(status, {
      'x-error-code': code,
      'x-error-message': 'Access to model is restricted',
    });
    expect(await problem()).toMatch(words);
  });

  it('says which files a model lacks, and what it has instead', async () => {
    hub.files.delete('model.safetensors');
    expect(await problem()).toContain('tiny/model@main: the model has no weights in safetensors');
    hub.files.set('tiny.gguf', randomBytes(100));
    expect(await problem()).toContain('choose one with --gguf: tiny.gguf');
    hub.files.delete('tokenizer.json');
    hub.files.delete('tiny.gguf');
    hub.files.set('model.safetensors', weights);
    expect(await problem()).toContain('no tokenizer.json');
  });

  it('uses what is there while the hub does not answer, and says so; nothing without it', async () => {
    const { path } = await get();
    hub.listing = refuse(503);
    expect(await get()).toMatchObject({ path, stale: expect.stringContaining('503') });
    const settings = hubSettings({ HF_ENDPOINT: 'http://127.0.0.1:9', HF_HUB_CACHE: cache });
    expect(await get({ settings })).toMatchObject({ path, stale: expect.stringContaining('127.0.0.1:9') });
    const offline = hubSettings({ HF_HUB_OFFLINE: '1', HF_HUB_CACHE: cache });
    expect(await get({ settings: offline }, `tiny/model@${COMMIT}`)).toMatchObject({ path });
    expect(await problem({ settings: offline }, 'tiny/other')).toMatch(
      /: HF_HUB_OFFLINE is set, and it is not in \S+models--tiny--other$/,
    );
    expect(await problem({ settings }, 'tiny/other')).toMatch(
      /: no network to http:\S+:9 \(.*\), and it is not in \S+; HF_ENDPOINT sets a mirror of the hub$/,
    );
  });

  const outside = ['../../evil.json', '/etc/evil', 'a/../../evil', 'a\\evil', 'c:evil', './config.json'];

  it.each([...outside, 'evil\x1b[2J', 'a\nb', 'a'.repeat(1001)])(
    'refuses a listing with a file outside the folder, or a name that is none: %#',
    async (name) => {
      const entries = [...hub.files.keys()].map((path) => hub.entryOf(path));
      const listed = hub.asListing([...entries, { ...entries[0], rfilename: name }]);
      hub.listing = (_, response) => void response.end(JSON.stringify(listed));
      expect(await problem()).toContain('siblings.5.rfilename is not what a hub answers');
    },
  );

  it.each([
    ['without an end', (endless: Endless) => endless.answer(200, {}, '{"siblings": "')],
    [
      'that sends on its redirect without an end',
      (endless: Endless) => endless.answer(302, { location: '/' }),
    ],
    ['that refuses without an end', (endless: Endless) => endless.answer(404)],
  ])('reads no more than a listing can have of a hub %s', async (_, answer) => {
    const endless = new Endless();
    hub.listing = answer(endless);
    expect(await problem()).not.toBe('none');
    expect(endless.bytes).toBeLessThan(BUFFERED);
    await expect.poll(() => endless.hungUp).toBe(1);
  });

  it('counts the files of a listing before it looks at them', async () => {
    const siblings = Array.from({ length: 20_001 }, () => ({ rfilename: '../evil' }));
    hub.listing = (_, response) => void response.end(JSON.stringify(hub.asListing(siblings)));
    expect(await problem()).toMatch(/: siblings is not what a hub answers \(has more than 20000 items\)$/);
  });

  it('refuses what is no listing', async () => {
    hub.listing = (_, response) => void response.end('<html>');
    expect(await problem()).toContain('is not what a hub answers');
  });

  it('leaves what has come at an interruption, and lets one download at a time', async () => {
    hub.instead.set('model.safetensors', [
      (_, response) => void response.writeHead(200, { 'content-length': 9 }),
    ]);
    const interrupted = new AbortController();
    const first = problem({ signal: interrupted.signal });
    await expect.poll(() => hub.fetched).toContain('model.safetensors');
    expect(await problem()).toContain(
      `${folder}: process ${process.pid} on ${hostname()} downloads there; wait for it or stop it`,
    );
    interrupted.abort();
    expect(await first).toContain('interrupted; the next download continues from here');
    expect((await get()).bytes).toBeGreaterThan(0);
  });
});

describe('a name on the hub', () => {
  const wrong = ['model', '/tiny/model', 'a/b/c', '../model', 'tiny/model@', 'tiny/model@..', 'tiny/mo del'];

  it.each([...wrong, '~/model'])('is not %s', (text) => {
    expect(() => parseHubModel(text)).toThrow('expected OWNER/NAME');
  });
});
