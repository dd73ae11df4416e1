import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { checkEntities, checkMathTest } from '#bench/data/contents.js';
import { DATA_SETS, type DataSet } from '#bench/data/data-catalogue.js';
import { defaultDataFolder, suiteFolder } from '#bench/data/data-folder.js';
import { filesPresent, type PullOptions, pull } from '#bench/data/data-pull.js';
import { sha256 } from '#src/files/download.js';
import { UsageError } from '#src/files/file-errors.js';
import { FileServer } from '../../support/file-server.js';
import {
  HAS_SHARED_DATA,
  NEEDS_DATA,
  readShared,
  SHARED_DATA,
  sharedFiles,
} from '../../support/shared-data.js';

const root = mkdtempSync(join(tmpdir(), 'pull-'));
afterAll(() => rmSync(root, { recursive: true }));

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const server = new FileServer(Buffer.from('right'));
const origin = await server.listen();

const set = (known: string | null): DataSet => ({
  suite: 'gsm8k',
  title: 't',
  licence: 'l',
  source: 's',
  files: [
    {
      name: 'test.jsonl',
      url: `${origin}/origin/test.jsonl`,
      bytes: null,
      sha256: known,
      ...(known === null && {
        check: async (text: string) => {
          if (!/right|true/.test(text)) throw new UsageError('has nothing right');
        },
      }),
    },
  ],
});
const pinned = set(digest('right'));
const unpinned = set(null);

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
  server.body = Buffer.from('right');
  server.asked.length = server.instead.length = 0;
});
const run = (data: DataSet, options: Partial<PullOptions> = {}) =>
  pull(data, { folder, retries: 0, retryDelayMs: 1, ...options });
const content = (): string => readFileSync(join(folder, 'test.jsonl'), 'utf8');
const put = (text: string): void => writeFileSync(join(folder, 'test.jsonl'), text);
const recorded = (): unknown =>
  JSON.parse(readFileSync(join(folder, 'flinch-data.json'), 'utf8')).files['test.jsonl'];

describe('pull', () => {
  it('downloads once, and notes what from where', async () => {
    expect(await run(pinned)).toEqual(['downloaded']);
    expect(await run(pinned)).toEqual(['present']);
    expect(server.asked.map(({ path }) => path)).toEqual(['/origin/test.jsonl']);
    expect(readdirSync(folder).toSorted()).toEqual(['flinch-data.json', 'test.jsonl']);
    expect(recorded()).toEqual({
      url: `${origin}/origin/test.jsonl`,
      bytes: 5,
      sha256: digest('right'),
      trust: 'pinned',
    });
  });

  it('takes a mirror instead of the origin', async () => {
    await run(pinned, { baseUrl: `${origin}/mirror/` });
    expect(server.asked.map(({ path }) => path)).toEqual(['/mirror/gsm8k/test.jsonl']);
  });

  it('refuses what has another checksum', async () => {
    server.body = Buffer.from('wrong');
    await expect(run(pinned)).rejects.toThrow(
      `its SHA-256 is ${digest('wrong')}, the published one ${digest('right')}`,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it("replaces a user's file only where it is told to, and by the published one only", async () => {
    put('mine');
    await expect(run(pinned)).rejects.toThrow('--force replaces it');
    server.body = Buffer.from('wrong');
    await expect(run(pinned, { force: true })).rejects.toThrow('SHA-256');
    expect(content()).toBe('mine');
    server.body = Buffer.from('right');
    expect(await run(pinned, { force: true })).toEqual(['downloaded']);
    expect(content()).toBe('right');
  });

  it('trusts the first file without a known checksum whose contents fit, and no other after it', async () => {
    server.body = Buffer.from('nonsense');
    await expect(run(unpinned)).rejects.toThrow('has nothing right');
    server.body = Buffer.from('right');
    await run(unpinned);
    expect(recorded()).toMatchObject({ sha256: digest('right'), trust: 'first_use' });
    rmSync(join(folder, 'test.jsonl'));
    server.body = Buffer.from('also true');
    await expect(run(unpinned)).rejects.toThrow(`that of the first download ${digest('right')}`);
    expect(await run(unpinned, { force: true })).toEqual(['downloaded']);
    expect(recorded()).toMatchObject({ sha256: digest('also true') });
  });

  it("takes a user's own file whose contents fit", async () => {
    put('right too');
    expect(await run(unpinned)).toEqual(['present']);
    expect(server.asked).toEqual([]);
  });

  it('names its own file where that is spoiled', async () => {
    writeFileSync(join(folder, 'flinch-data.json'), '{bad');
    await expect(run(unpinned)).rejects.toThrow(/flinch-data\.json: is not valid JSON/);
  });

  it('counts published files, and others of their names', async () => {
    expect(await filesPresent(pinned, folder)).toEqual({ published: 0, others: 0 });
    put('wrong');
    expect(await filesPresent(pinned, folder)).toEqual({ published: 0, others: 1 });
    put('right');
    expect(await filesPresent(pinned, folder)).toEqual({ published: 1, others: 0 });
  });

  it('lets one download at a time into a folder', async () => {
    server.instead.push((request, response) => setTimeout(() => server.serve(request, response), 300));
    const first = run(pinned);
    await expect.poll(() => server.asked.length).toBe(1);
    await expect(run(pinned)).rejects.toThrow(`process ${process.pid} on ${hostname()} downloads there`);
    expect(await first).toEqual(['downloaded']);
  });
});

describe('the contents of files without a known checksum', () => {
  it('are whole', () => {
    expect(() => checkEntities('A\nB\n')).toThrow('has 2 entities, not 500');
    const row = { problem: 'p', solution: '\\boxed{1}', type: 'Algebra' };
    expect(() => checkMathTest(JSON.stringify(row))).toThrow('algebra has 1 rows, not 1187');
    expect(() => checkMathTest('<html>')).toThrow('line 1: is not valid JSON');
  });

  it.skipIf(!HAS_SHARED_DATA)(`are those of the data sets${NEEDS_DATA}`, () => {
    checkMathTest(
      sharedFiles('math', '.jsonl')
        .map((file) => readShared(`math/${file}`))
        .join('\n'),
    );
    checkEntities(readShared('factscore/entities_500_from_graph_uncertainty.txt'));
  });
});

describe('DATA_SETS', () => {
  it('come from pinned revisions', () => {
    for (const { files } of DATA_SETS) for (const { url } of files) expect(url).toMatch(/\/[0-9a-f]{40}\//);
  });

  it.skipIf(!HAS_SHARED_DATA)(`have the checksums of the copies${NEEDS_DATA}`, async () => {
    const known = DATA_SETS.filter(({ suite }) => ['bbh', 'gsm8k', 'processbench'].includes(suite));
    let files = 0;
    for (const data of known) {
      for (const { name, sha256: expected } of data.files) {
        expect([name, await sha256(join(SHARED_DATA, data.suite, name))]).toEqual([name, expected]);
        files += 1;
      }
    }
    expect(files).toBe(16);
  });
});

describe('the folder of data', () => {
  it('is in the data of the user', () => {
    expect(defaultDataFolder({ XDG_DATA_HOME: '/data' })).toBe('/data/flinch');
    expect(defaultDataFolder({})).toMatch(/[\\/]\.local[\\/]share[\\/]flinch$/);
  });

  it('holds a folder for each suite, or the files themselves', async () => {
    expect(suiteFolder(folder, 'math')).toBe(folder);
    await pull(pinned, { folder: join(folder, 'math') });
    expect(suiteFolder(folder, 'math')).toBe(join(folder, 'math'));
  });
});
