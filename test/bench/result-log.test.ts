import { appendFileSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Ledger, readResults } from '#bench/result-log.js';
import { UsageError } from '#src/files/file-errors.js';
import { useFolder } from '../support/cli.js';

const folder = useFolder();
const schema = z.object({ problem: z.int(), right: z.boolean() });
const open = (name: string) => Ledger.open(folder.path(name), schema, ({ problem }) => problem);

describe('Ledger', () => {
  it('knows after a restart what was added before it', async () => {
    const ledger = await open('a.jsonl');
    ledger.add({ problem: 3, right: true });
    ledger.add({ problem: 1, right: false });
    const again = await open('a.jsonl');
    expect([again.get(1), again.get(2), again.get(3)]).toEqual([
      { problem: 1, right: false },
      undefined,
      { problem: 3, right: true },
    ]);
  });

  it('forgets a line that was being written when the run was killed, and goes on after the last whole one', async () => {
    (await open('b.jsonl')).add({ problem: 1, right: true });
    appendFileSync(folder.path('b.jsonl'), '{"problem": 2, "rig');
    const again = await open('b.jsonl');
    expect(again.has(2)).toBe(false);
    again.add({ problem: 2, right: false });
    expect(readFileSync(folder.path('b.jsonl'), 'utf8').trim().split('\n')).toHaveLength(2);
    expect((await open('b.jsonl')).get(2)).toEqual({ problem: 2, right: false });
  });

  it.skipIf(!existsSync('/dev/full'))(
    'adds nothing more once the disk is full, and knows nothing of what it could not write',
    async () => {
      const ledger = await open('full.jsonl');
      symlinkSync('/dev/full', folder.path('full.jsonl'));
      const fault = /full\.jsonl: cannot be written \(ENOSPC.*the same command continues$/;
      expect(() => ledger.add({ problem: 1, right: true })).toThrow(fault);
      expect(ledger.has(1)).toBe(false);
      // There is space again, but a part of the line may be there.
      rmSync(folder.path('full.jsonl'));
      expect(() => ledger.add({ problem: 2, right: true })).toThrow(UsageError);
      expect(existsSync(folder.path('full.jsonl'))).toBe(false);
    },
  );

  it('is empty again where the very first line was not finished', async () => {
    writeFileSync(folder.path('first.jsonl'), '{"problem": 1, "right": tr');
    expect((await open('first.jsonl')).size).toBe(0);
    expect(readFileSync(folder.path('first.jsonl'), 'utf8')).toBe('');
  });

  it('names file and line of what is no JSON', async () => {
    folder.write('spoiled.jsonl', '{"problem": 1, "right": true}\n{"problem": 2,\n');
    await expect(open('spoiled.jsonl')).rejects.toThrow(/spoiled\.jsonl: line 2: is not valid JSON/);
    await expect(open('spoiled.jsonl')).rejects.toBeInstanceOf(UsageError);
  });

  it('refuses a result that is none', async () => {
    appendFileSync(folder.path('c.jsonl'), '{"problem": 1, "right": "yes"}\n');
    await expect(open('c.jsonl')).rejects.toThrow('right');
  });

  it('refuses a number that JSON would make null', async () => {
    const ledger = await Ledger.open(null, z.object({ id: z.string(), score: z.number() }), ({ id }) => id);
    expect(() => ledger.add({ id: 'x', score: Number.NaN })).toThrow('"x": score is NaN');
  });

  it('reads lines that are longer than what it reads at a time, whatever characters are cut', async () => {
    const long = 'é'.repeat(700_001);
    folder.write('long.jsonl', `{"text": "${long}"}\n{"text": "after"}\n`);
    const texts = [];
    for await (const { text } of readResults(folder.path('long.jsonl'), z.object({ text: z.string() }))) {
      texts.push(text);
    }
    expect(texts).toEqual([long, 'after']);
  });
});
