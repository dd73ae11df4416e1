import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fieldHint } from '#src/files/field-hint.js';
import { nearest } from '#src/files/nearest.js';

const guard = z.strictObject({ rate: z.number(), action: z.string() });
const schema = z.strictObject({
  listen: z.strictObject({ host: z.string(), port: z.int() }).prefault({ host: 'h', port: 1 }),
  metrics: z.strictObject({ port: z.int().optional() }),
  guard: z.strictObject({ defaults: guard, rate_limit: z.number() }),
  models: z.record(
    z.string(),
    z.union([
      z.strictObject({ file: z.string(), device: z.string() }),
      z.strictObject({ servers: z.array(z.strictObject({ url: z.string() })) }),
    ]),
  ),
});

describe('the hint for a field that nobody knows', () => {
  it.each<[PropertyKey[], string]>([
    [['lisen'], '; did you mean listen?'],
    [['listen', 'prot'], '; did you mean port?'],
    [['models', 'm', 'devise'], '; did you mean device?'],
    [['models', 'm', 'servers', 0, 'uri'], '; did you mean url?'],
    [['guard', 'defaults', 'acton'], '; did you mean action?'],
  ])('%j: is the nearest', (path, hint) => {
    expect(fieldHint(schema, path)).toBe(hint);
  });

  it.each<[PropertyKey[], string]>([
    [['guard', 'action'], '; it belongs at guard.defaults.action'],
    [['port'], '; it belongs at listen.port or metrics.port'],
    [['models', 'm', 'url'], '; it belongs at models.m.servers[0].url'],
    [['url'], '; it belongs at models.NAME.servers[0].url'],
    [['listen', 'action'], '; it belongs at guard.defaults.action'],
  ])('%j: is where it belongs', (path, hint) => {
    expect(fieldHint(schema, path)).toBe(hint);
  });

  it('is not there for one like no other, one of another alternative, and one that is long', () => {
    const paths = [['mood'], ['models', 'm', 'file'], ['nowhere', 'x'], ['listen'.repeat(1000)]];
    expect(paths.map((path) => fieldHint(schema, path))).toEqual(['', '', '', '']);
  });
});

describe('the nearest name', () => {
  it('takes few edits, as commander counts them', () => {
    const names = ['temperature', 'top_p', 'guard'];
    const found = ['temprature', 'tempratur', 'topp', 'gaurd', 'g', 'completely'].map((name) =>
      nearest(name, names),
    );
    expect(found).toEqual(['temperature', 'temperature', 'top_p', 'guard', null, null]);
  });
});
