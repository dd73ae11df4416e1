import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONNECTION_EVENTS, GENERATION_EVENTS } from '#client/protocol.js';
import { configSchema } from '#gateway/config/config.js';
import { METHODS } from '#src/uncertainty/method-names.js';
import { checkEvent } from '../../support/strict-event.js';

/** The rows of the first table after a line, without its head: what Markdown takes for the table ends at a blank line. */
function tableAfter(text: string, line: string): string[][] {
  const lines = text.slice(text.indexOf(line)).split('\n');
  const start = lines.findIndex((row) => row.startsWith('|'));
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((row) => !row.startsWith('|'));
  return rows.slice(0, end).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('PROTOCOL.md', () => {
  const text = readFileSync('gateway/PROTOCOL.md', 'utf8');

  it('lists in one table all events, with their fields', () => {
    const schemas = { ...GENERATION_EVENTS, ...CONNECTION_EVENTS };
    const rows = tableAfter(text, '## From the server');
    expect(rows.map(([type = '']) => type.replaceAll('`', ''))).toEqual(Object.keys(schemas));
    const shared = ['type', 'response_id', 'offset'];
    const said = new Map<string, readonly string[]>([
      ['*step*', ['step', 'from', 'to', 'text', 'part']],
      ['*rating*', ['method', 'score', 'risk', 'calibrated']],
    ]);
    for (const [i, [type, schema]] of Object.entries(schemas).entries()) {
      const cell = rows[i]?.[1] ?? '';
      const groups = [...said].flatMap(([name, fields]) => (cell.includes(name) ? fields : []));
      for (const field of Object.keys(schema.shape).filter((name) => !shared.includes(name))) {
        if (!groups.includes(field))
          expect({ type, cell }).toMatchObject({ cell: expect.stringContaining(`\`${field}`) });
      }
    }
  });

  it('has each event with the fields of its schema', () => {
    const declared = new Map(
      [...text.matchAll(/^interface (\w+)(?: extends ([\w, ]+))? \{\n(.*?)^\}/gms)].map(
        ([, name = '', bases = '', body = '']) => [name, { bases: bases.split(', '), body }] as const,
      ),
    );
    const fieldsOf = (name: string): string[] => {
      const { bases, body } = declared.get(name) ?? { bases: [], body: '' };
      const own = [...body.matchAll(/^ {2}(\w+\??): /gm)].map(([, field = '']) => field);
      return [...bases.flatMap(fieldsOf), ...own];
    };
    const said = new Map(
      [...declared].map(([name, { body }]) => [/^ {2}type: '([\w.]+)';/m.exec(body)?.[1], fieldsOf(name)]),
    );
    for (const [type, schema] of Object.entries({ ...GENERATION_EVENTS, ...CONNECTION_EVENTS })) {
      const fields = Object.entries(schema.shape).map(([name, field]) =>
        field._zod.optout === 'optional' ? `${name}?` : name,
      );
      expect({ type, fields: said.get(type)?.toSorted() }).toEqual({ type, fields: fields.toSorted() });
    }
  });

  it('has the names of the methods', () => {
    expect(text).toContain(`type Method = ${METHODS.map((method) => `'${method}'`).join(' | ')};`);
  });

  it('gives the defaults of settings as they are', () => {
    const { limits, streams, shutdown } = configSchema.parse({});
    const settings = new Map(
      Object.entries({ limits, streams, shutdown }).flatMap(([section, fields]) =>
        Object.entries(fields).map(([name, value]) => [`${section}.${name}`, value]),
      ),
    );
    const units = new Map([
      ['KiB', 1 << 10],
      ['MiB', 1 << 20],
    ]);
    const named = [...text.matchAll(/(\d+) ?(KiB|MiB)?[\w ]{0,70} \(`(\w+\.\w+)`\)/g)];
    expect(named.length).toBeGreaterThan(8);
    for (const [, number, unit = '', name = ''] of named) {
      expect({ [name]: Number(number) * (units.get(unit) ?? 1) }).toEqual({ [name]: settings.get(name) });
    }
  });
});

describe('the check that tests make of each event', () => {
  const token = { type: 'token.delta', response_id: 'r', offset: 1, index: 0, id: 1, text: '', logprob: -1 };

  it('takes what the protocol says, and no more', () => {
    expect(() => checkEvent(token)).not.toThrow();
    expect(() => checkEvent({ ...token, extra: 1 })).toThrow('extra');
    const top = { id: 1, text: '', logprob: -1, extra: 1 };
    expect(() => checkEvent({ ...token, top_logprobs: [top] })).toThrow('extra');
    expect(() => checkEvent({ ...token, type: 'token.other' })).toThrow('token.other');
  });
});
