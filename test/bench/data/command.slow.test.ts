import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { flinch, start, useFolder } from '../../support/cli.js';
import { FileServer } from '../../support/file-server.js';

const folder = useFolder();
const ENTITIES = Array.from({ length: 500 }, (_, i) => `Person ${i} of many\n`).join('');
const server = new FileServer(Buffer.from(ENTITIES));
const origin = await server.listen();
const data = folder.path('data');

beforeEach(() => {
  server.asked.length = server.instead.length = 0;
});

describe('flinch data', () => {
  it('lists data sets with origin and licence', async () => {
    const { code, stdout } = await flinch(['data', 'list', '--data', data]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      'processbench  ProcessBench; not downloaded\n  Apache-2.0; QwenLM/ProcessBench\n',
    );
    expect(stdout).toContain('never appear in training corpora');
  });

  it('leaves a part when it is interrupted, and goes on from there', async () => {
    server.instead.push(server.cutAfter(4000, 'hang'));
    const args = ['data', 'pull', 'factscore', '--data', data, '--base-url', `${origin}/m`];
    const running = start(args);
    const part = join(data, 'factscore', 'prompt_entities.txt.part');
    const size = (): number => {
      try {
        return readFileSync(part).length;
      } catch {
        return 0;
      }
    };
    await expect.poll(size).toBe(4000);
    running.child.kill('SIGINT');
    const { code, stderr } = await running.finished;
    expect([code, stderr]).toEqual([
      130,
      `flinch: ${origin}/m/factscore/prompt_entities.txt: interrupted; the next download continues from here\n`,
    ]);

    const second = await flinch(args);
    expect(server.asked[1]).toEqual({ path: '/m/factscore/prompt_entities.txt', range: 'bytes=4000-' });
    expect(second.stdout).toContain('factscore  ');
    expect(second.stdout).toContain('1 downloaded, 0 already there');
    expect(second.stdout).toContain('MIT; shmsw25/FActScore');
    expect(readFileSync(join(data, 'factscore', 'prompt_entities.txt'), 'utf8')).toBe(ENTITIES);
    expect(readdirSync(join(data, 'factscore')).toSorted()).toEqual([
      'flinch-data.json',
      'prompt_entities.txt',
    ]);
  });

  it('takes the address from the environment, says what it cannot get, and gets the rest', async () => {
    server.instead.push(server.status(404));
    const args = ['data', 'pull', 'gsm8k', 'factscore', '--data', folder.path('other')];
    const { code, stdout, stderr } = await flinch(args, '', { FLINCH_DATA_URL: origin });
    expect(stdout).toContain('1 downloaded');
    expect([code, stderr]).toEqual([
      1,
      `flinch: ${origin}/gsm8k/test.jsonl: the server answered 404 Not Found\n`,
    ]);
  });

  it.each([
    [['pull', 'snarks'], 'Must be one of math, bbh, gsm8k, processbench, factscore, all.'],
    [['pull', 'math', '--base-url', 'ftp://x'], 'http:// or https://'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await flinch(['data', ...args, '--data', data]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
