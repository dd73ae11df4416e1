import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useFolder } from '../support/cli.js';
import { chatBody, TestSocket } from '../support/gateway.js';
import { Scrape } from '../support/metrics.js';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.js';
import { Serving } from '../support/serving.js';
import { vllmDouble } from '../support/upstream-doubles.js';

const REQUESTS = 1000;
const CLIENTS = 8;

const folder = useFolder();
let upstream: ScriptedUpstream;
let serving: Serving;
beforeAll(async () => {
  upstream = await startScriptedUpstream(vllmDouble({ answer: [' 1', ' 2', ' 3'] }));
});
afterEach(() => serving.kill());
afterAll(() => upstream.close());

const STEADY = 'steady-0123456789abcdef';
const GUEST = 'guest-0123456789abcdef';
const ADMIN = 'admin-0123456789abcdef';
/** The key of this name has another value in each configuration. */
const rotating = (turn: Turn): string => `rotating-${turn}-0123456789abcdef`;
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

type Turn = 'a' | 'b';

/** In each configuration, the gateway, the model and the key set one field each. */
const FIELDS = {
  a: { rate: 0.1, delivery: 'immediate', max_rollbacks: 1 },
  b: { rate: 0.2, delivery: 'held', max_rollbacks: 2 },
} as const;

function config(turn: Turn, workers: number): string {
  const { rate, delivery, max_rollbacks } = FIELDS[turn];
  const keyOf = (name: string, key: string) => ({
    name,
    requests_per_minute: 1_000_000,
    generations: 1000,
    sha256: createHash('sha256').update(key).digest('hex'),
    guard: { name: `${name}-${turn}`, defaults: { max_rollbacks } },
  });
  return JSON.stringify({
    workers,
    models: { m: { upstreams: [{ url: upstream.url }], guard: { defaults: { delivery } } } },
    guard: { defaults: { rate } },
    access: {
      keys: [
        keyOf('steady', STEADY),
        keyOf('rotating', rotating(turn)),
        ...(turn === 'a' ? [keyOf('guest', GUEST)] : []),
        { ...keyOf('admin', ADMIN), metrics: true, generate: true },
      ],
    },
  });
}

const guardSchema = z.object({
  policy: z.string(),
  rate: z.number(),
  delivery: z.string(),
  max_rollbacks: z.number(),
});

/** The configuration that all fields of a guard are of; `mixed` if they are of both. */
function turnOf(guard: unknown, name: string): Turn | 'mixed' {
  const { policy, ...fields } = guardSchema.parse(guard);
  const of = (['a', 'b'] as const).filter((turn) => policy === `${name}-${turn}`);
  const [turn] = of.filter((each) => JSON.stringify(fields) === JSON.stringify(FIELDS[each]));
  return turn ?? 'mixed';
}

interface Outcome {
  readonly key: string;
  readonly status: number;
  readonly turn: Turn | 'mixed' | null;
}

async function ask(name: string, key: string, stream: boolean): Promise<Outcome> {
  const body = chatBody({ model: 'm', max_tokens: 3, stream });
  const { status, text } = await serving.send('POST', '/v1/chat/completions', body, bearer(key));
  if (status !== 200) return { key: name, status, turn: null };
  expect(text).toContain(stream ? '[DONE]' : '"finish_reason"');
  const first = stream ? (/^data: (.*)$/m.exec(text)?.[1] ?? '') : text;
  return { key: name, status, turn: turnOf(JSON.parse(first).flinch.guard, name) };
}

async function reload(text: string, said: string): Promise<void> {
  const before = serving.log.length;
  folder.write('flinch.json', text);
  serving.kill('SIGHUP');
  await expect.poll(() => serving.log.slice(before).map(({ msg }) => msg), { interval: 5 }).toContain(said);
}

const ACCEPTED = 'configuration reloaded';
const REFUSED = 'configuration refused; the one before is in force';

describe.each([1, 2])(
  'a configuration that is reloaded again and again under load, workers: %i',
  (workers) => {
    it('loses no request, and gives each the keys and policies of one of them', async () => {
      serving = await Serving.start(['--config', folder.write('flinch.json', config('a', workers))]);
      const outcomes: Outcome[] = [];
      let left = REQUESTS;
      const client = async (i: number): Promise<void> => {
        for (let turn = 0; left > 0; turn++) {
          left -= 1;
          const who = (i + turn) % 4;
          const stream = turn % 2 === 0;
          if (who === 0) outcomes.push(await ask('guest', GUEST, stream));
          else if (who === 1) outcomes.push(await ask('rotating', rotating('b'), stream));
          else outcomes.push(await ask('steady', STEADY, stream));
        }
      };
      let reloads = 0;
      const clients = Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(i)));
      while (left > 0) {
        await reload(config(reloads % 2 === 0 ? 'b' : 'a', workers), ACCEPTED);
        reloads += 1;
        await reload('{"guard": {"defaults": {"rate": 2}}}', REFUSED);
      }
      await clients;

      expect(outcomes).toHaveLength(REQUESTS);
      expect(outcomes.filter(({ turn }) => turn === 'mixed')).toEqual([]);
      const steady = outcomes.filter(({ key }) => key === 'steady');
      expect(new Set(steady.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(steady.map(({ turn }) => turn))).toEqual(new Set(['a', 'b']));
      // Keys that one of the configurations has: refused under the other one.
      const seen = (name: string) =>
        new Set(outcomes.filter(({ key }) => key === name).map(({ status, turn }) => `${status} ${turn}`));
      expect(seen('guest')).toEqual(new Set(['200 a', '401 null']));
      expect(seen('rotating')).toEqual(new Set(['200 b', '401 null']));

      await reload(config('a', workers), ACCEPTED);
      const socket = await TestSocket.open(serving.url, bearer(GUEST));
      const create = { type: 'generation.create', ...chatBody({ model: 'm', max_tokens: 3 }) };
      socket.send(create);
      await socket.event(({ type }) => type === 'generation.done');
      await reload(config('b', workers), ACCEPTED);
      expect(await ask('guest', GUEST, false)).toMatchObject({ status: 401 });
      socket.send(create);
      expect(await socket.event(({ type }) => type === 'error')).toMatchObject({
        error: { code: 'invalid_api_key' },
      });
      socket.close();

      const scrape = new Scrape((await serving.get('/metrics', bearer(ADMIN))).text);
      const counts = ['accepted', 'refused'].map((result) =>
        scrape.sum('flinch_config_reloads_total', { result }),
      );
      expect(counts).toEqual([reloads + 2, reloads]);
      expect(scrape.sum('flinch_config_last_reload_successful')).toBe(1);
    });
  },
);
