import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configSchema } from '#gateway/config/gateway-config.js';
import { CLIENT_MESSAGES, SERVER_MESSAGES } from '#tools/api/messages.js';
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

  it.each([
    ['## From the client', [...CLIENT_MESSAGES.keys()]],
    ['## From the server', [...SERVER_MESSAGES.keys()]],
  ])('lists in one table all messages %s, with links to their fields', (heading, types) => {
    const rows = tableAfter(text, heading);
    const link = (type: string): string =>
      `[\`${type}\`](../docs/reference/events.md#${type.replaceAll('.', '')})`;
    expect(rows.map(([cell]) => cell).toSorted()).toEqual(types.map(link).toSorted());
  });

  it('has a session of messages as they are sent', () => {
    const messages = [...text.matchAll(/^[→←] (.+)$/gm)].map(([, message = '']) => JSON.parse(message));
    expect(messages.length).toBeGreaterThan(10);
    for (const message of messages) expect(() => checkEvent(message)).not.toThrow();
    const offsets = messages.slice(1).map(({ offset }) => offset);
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
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
    expect(named.length).toBeGreaterThan(2);
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
