import { appendFileSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Ledger } from '#src/bench/correct/ledger.js';
import { useFolder } from '../../support/cli.js';

const folder = useFolder();
const schema = z.object({ right: z.boolean() });
const open = (name: string) => new Ledger(folder.path(name), (value) => schema.parse(value));

describe('Ledger', () => {
  it('knows after a restart what was added before it', () => {
    const ledger = open('a.jsonl');
    ledger.add(3, { right: true });
    ledger.add(1, { right: false });
    const again = open('a.jsonl');
    expect([again.get(1), again.get(2), again.get(3)]).toEqual([
      { right: false },
      undefined,
      { right: true },
    ]);
  });

  it('forgets a line that was being written when the run was killed, and goes on after the last whole one', () => {
    open('b.jsonl').add(1, { right: true });
    appendFileSync(folder.path('b.jsonl'), '{"problem": 2, "rig');
    const again = open('b.jsonl');
    expect(again.get(2)).toBeUndefined();
    again.add(2, { right: false });
    expect(readFileSync(folder.path('b.jsonl'), 'utf8').trim().split('\n')).toHaveLength(2);
    expect(open('b.jsonl').get(2)).toEqual({ right: false });
  });

  it('refuses a result that is none', () => {
    appendFileSync(folder.path('c.jsonl'), '{"problem": 1, "right": "yes"}\n');
    expect(() => open('c.jsonl')).toThrow();
  });
});
