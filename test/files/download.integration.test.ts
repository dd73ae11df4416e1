import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type DownloadOptions, download, sha256 } from '#src/files/download.js';
import { UsageError } from '#src/files/file-errors.js';
import { SOURCES, startScript } from '../support/cli.js';
import { BUFFERED, Endless } from '../support/endless.js';
import { FileServer } from '../support/file-server.js';

const root = mkdtempSync(join(tmpdir(), 'download-'));
afterAll(() => rmSync(root, { recursive: true }));

const BODY = randomBytes(300_000);
const server = new FileServer(BODY);
const url = `${await server.listen()}/file`;

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
  path = join(folder, 'file');
  server.body = BODY;
  server.ranges = true;
  server.instead.length = server.asked.length = 0;
});

const verifyAs = (body: Buffer) => async (file: string) => {
  const expected = createHash('sha256').update(body).digest('hex');
  if ((await sha256(file)) !== expected) throw new UsageError('wrong checksum');
};
const get = (options: Partial<DownloadOptions> = {}): Promise<void> =>
  download({
    url,
    path,
    verify: verifyAs(server.body),
    mostBytes: BODY.length,
    retries: 3,
    retryDelayMs: 1,
    ...options,
  });

describe('download', () => {
  it('puts a file in its place, and nothing else', async () => {
    const seen: (number | null)[][] = [];
    await get({ onProgress: (bytes, total) => seen.push([bytes, total]) });
    expect(readFileSync(path).equals(BODY)).toBe(true);
    expect(readdirSync(folder)).toEqual(['file']);
    expect(seen[0]).toEqual([0, BODY.length]);
    expect(seen.at(-1)).toEqual([BODY.length, BODY.length]);
  });

  it('takes a file whose connection ends before it is read', async () => {
    server.body = randomBytes(100_000);
    server.instead.push((_, response) => {
      response.writeHead(200, { 'content-length': server.body.length, connection: 'close' }).end(server.body);
    });
    /** Meanwhile all comes, and the end of the connection. */
    const onProgress = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    await get({ onProgress });
    expect(readFileSync(path).equals(server.body)).toBe(true);
  });

  it('goes on where the connection broke', async () => {
    server.instead.push(server.cutAfter(100_000));
    await get();
    expect(readFileSync(path).equals(BODY)).toBe(true);
    expect(server.asked.map(({ range }) => range)).toEqual([
      undefined,
      expect.stringMatching(/^bytes=[1-9]\d*-$/),
    ]);
  });

  it('goes on in another run, from what came before', async () => {
    server.instead.push(server.cutAfter(120_000));
    await expect(get({ retries: 0 })).rejects.toThrow(UsageError);
    expect(readdirSync(folder)).toEqual(['file.part']);
    const { size } = statSync(`${path}.part`);
    expect(size).toBeGreaterThan(0);
    const seen: number[] = [];
    await get({ onProgress: (bytes) => seen.push(bytes) });
    expect(server.asked[1]?.range).toBe(`bytes=${size}-`);
    expect(seen[0]).toBe(size);
    expect(readFileSync(path).equals(BODY)).toBe(true);
  });

  it('starts again where the file has changed, and splices nothing', async () => {
    server.instead.push(server.cutAfter(100_000));
    await expect(get({ retries: 0 })).rejects.toThrow();
    server.body = randomBytes(250_000);
    await get();
    expect(readFileSync(path).equals(server.body)).toBe(true);
  });

  it('starts again where the server knows no parts', async () => {
    server.ranges = false;
    server.instead.push(server.cutAfter(100_000));
    await get();
    expect(readFileSync(path).equals(BODY)).toBe(true);
  });

  it('starts again where a part does not fit, or is whole but was not put in its place', async () => {
    writeFileSync(`${path}.part`, randomBytes(1000));
    await get();
    expect(readFileSync(path).equals(BODY)).toBe(true);
    writeFileSync(`${path}.part`, BODY);
    await get();
    expect(readFileSync(path).equals(BODY)).toBe(true);
  });

  it('tries again after errors that pass', async () => {
    server.instead.push(server.status(500), server.status(429), (request) => request.socket.destroy());
    await get();
    expect(server.asked).toHaveLength(4);
    expect(existsSync(path)).toBe(true);
  });

  it('gives up at once where there is no such file', async () => {
    server.instead.push(server.status(404), server.status(404));
    await expect(get()).rejects.toThrow(`${url}: the server answered 404 Not Found`);
    expect(server.asked).toHaveLength(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('gives up after as many tries as it has', async () => {
    for (let i = 0; i < 9; i += 1) server.instead.push(server.status(503));
    await expect(get()).rejects.toThrow('the server answered 503 Service Unavailable');
    expect(server.asked).toHaveLength(4);
  });

  it('keeps what is there when what comes is not what was expected', async () => {
    writeFileSync(path, 'old');
    await expect(get({ verify: verifyAs(Buffer.from('other')) })).rejects.toThrow(`${url}: wrong checksum`);
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['file']);
    expect(server.asked).toHaveLength(1);
  });

  it('says in one line that nothing is reached', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const address = `http://127.0.0.1:${port}/file`;
    await expect(get({ url: address })).rejects.toThrow(`${address}: connect ECONNREFUSED 127.0.0.1:${port}`);
  });

  it('stops when it is told to, and leaves a part to go on from', async () => {
    const abort = new AbortController();
    server.instead.push(server.cutAfter(100_000, 'hang'));
    const stopped = get({
      signal: abort.signal,
      onProgress: (bytes) => {
        if (bytes === 100_000) setTimeout(() => abort.abort(), 20);
      },
    });
    await expect(stopped).rejects.toThrow('interrupted; the next download continues from here');
    await get();
    expect(server.asked[1]?.range).toBe('bytes=100000-');
    expect(readFileSync(path).equals(BODY)).toBe(true);
  });

  it('goes by way of the proxy that the environment names', async () => {
    const tunnels: string[] = [];
    const proxy = createServer();
    proxy.on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      const onward = connect(Number(new URL(url).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const script = join(folder, 'get.mjs');
    const module = new URL('../../src/files/download.ts', import.meta.url);
    const options = `{ url: 'http://data.invalid/file', path: ${JSON.stringify(path)}, verify: async () => {} }`;
    writeFileSync(script, `import { download } from '${module}';\nawait download(${options});\n`);
    const env = { ...SOURCES, http_proxy: `http://127.0.0.1:${port}`, no_proxy: '' };
    const { code, stderr } = await startScript(script, [], '', env).finished;
    proxy.closeAllConnections();
    proxy.close();
    expect([code, stderr, tunnels]).toEqual([0, '', ['data.invalid:80']]);
    expect(readFileSync(path).equals(BODY)).toBe(true);
  });

  describe('of a server that sends more than was stated', () => {
    const problem = (options: Partial<DownloadOptions> = {}): Promise<string> =>
      get(options).then(
        () => 'none',
        (error: Error) => error.message,
      );

    // Zeros have a thousandth of their size: what comes out must not be kept, either.
    const zeros = gzipSync(Buffer.alloc(64 << 20), { finishFlush: constants.Z_SYNC_FLUSH });

    it.each([
      ['without an end', {}, undefined],
      ['compressed, without an end', { 'content-encoding': 'gzip' }, zeros],
    ])('hangs up, asks once and keeps nothing: %s', async (_, headers, chunk) => {
      const endless = new Endless(chunk);
      server.instead.push(endless.answer(200, headers));
      let most = 0;
      const onProgress = (): void => {
        most = Math.max(most, existsSync(`${path}.part`) ? statSync(`${path}.part`).size : 0);
      };
      expect(await problem({ mostBytes: 100_000, onProgress })).toBe(
        `${url}: the server sends more than 100000 bytes`,
      );
      expect([readdirSync(folder), server.asked.length]).toEqual([[], 1]);
      expect(most).toBeLessThanOrEqual(100_000);
      expect(endless.bytes).toBeLessThan(BUFFERED);
      await expect.poll(() => endless.hungUp).toBe(1);
    });

    it('reads none of what is announced to be longer', async () => {
      const seen: number[] = [];
      const onProgress = (bytes: number): void => void seen.push(bytes);
      expect(await problem({ mostBytes: BODY.length - 1, onProgress })).toContain('more than 299999 bytes');
      expect([seen, readdirSync(folder)]).toEqual([[], []]);
    });

    it('takes a file of exactly as many bytes, however it comes', async () => {
      server.instead.push((_, response) => void response.writeHead(200).end(BODY));
      await get({ mostBytes: BODY.length });
      expect(readFileSync(path).equals(BODY)).toBe(true);
    });

    it('counts what was there before', async () => {
      const endless = new Endless();
      server.instead.push(
        server.cutAfter(100_000),
        endless.answer(206, { 'content-range': `bytes 100000-299999/300000` }),
      );
      expect(await problem()).toContain('more than 300000 bytes');
      expect(server.asked[1]?.range).toBe('bytes=100000-');
      expect(readdirSync(folder)).toEqual([]);
      expect(endless.bytes).toBeLessThan(BUFFERED);
    });

    it('starts over where more was left than there should be', async () => {
      writeFileSync(`${path}.part`, Buffer.alloc(BODY.length + 1));
      await get();
      expect(server.asked.map(({ range }) => range)).toEqual([undefined]);
    });

    it.each([
      ['a redirect', 302],
      ['a refusal', 404],
    ])('reads no body of %s', async (_, status) => {
      const endless = new Endless();
      server.instead.push(endless.answer(status, { location: '/other' }));
      expect(await problem()).toMatch(status === 302 ? /none/ : /404/);
      await expect.poll(() => endless.hungUp).toBe(1);
      expect(endless.bytes).toBeLessThan(BUFFERED);
    });
  });
});
