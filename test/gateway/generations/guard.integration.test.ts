import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatBody, post, type SocketEvent, TestSocket, token, useGateway } from '../../support/gateway.js';
import { scoreErrors } from '../../support/golden.js';

const gateway = useGateway();

const completion = z.object({
  flinch: z.object({ guard: z.record(z.string(), z.unknown()), tokens: z.array(token) }),
});
type Completion = z.output<typeof completion>['flinch'];

async function whole(guard: object, changes: object = {}): Promise<Completion> {
  const response = await post(gateway.url, chatBody({ guard, ...changes }));
  return completion.parse(await response.json()).flinch;
}

async function socketEvents(guard: object): Promise<SocketEvent[]> {
  const socket = await TestSocket.open(gateway.url);
  socket.send({ type: 'generation.create', ...chatBody({ guard }) });
  await socket.event(({ type }) => type === 'generation.done' || type === 'error');
  socket.close();
  return socket.events;
}

describe('the measures of the guard', () => {
  const guard = { methods: ['random', 'tokur_eu', 'tokur_tu', 'tokur_au', 'adversarial', 'nll'] };
  const short = { max_tokens: 24 };

  it('are there for every token, always the same, and the settings in force beside them', async () => {
    const alpha = expect.closeTo(0.005 * 0.2465, 6);
    const asked = { ...guard, scoring: { alpha: '0.005rms', block: 8 } };
    const first = await whole(asked, short);
    expect(first.guard).toMatchObject({ ...guard, scoring: { alpha, block: 8 } });
    for (const { scores, skipped } of first.tokens) {
      expect(Object.keys(scores!)).toEqual(guard.methods);
      expect(scores!.tokur_tu).toBeCloseTo(scores!.tokur_au! + scores!.tokur_eu!, 4);
      expect(skipped).toBeUndefined();
    }
    const again = await whole(asked, short);
    for (const method of ['random', 'tokur_eu']) {
      const [before, after] = [first, again].map(({ tokens }) =>
        tokens.map(({ scores }) => scores![method]!),
      );
      expect(Math.max(...before!)).toBeGreaterThan(0);
      expect(scoreErrors(after!, before!).all).toBeLessThan(1e-3);
    }
  });

  it.each([{ alpha: 1e-3 }, { block: 4 }])('depend on their settings: %j', async (changes) => {
    const column = async (scoring: object) =>
      (await whole({ methods: ['adversarial'], scoring }, short)).tokens.map(
        ({ scores }) => scores!.adversarial!,
      );
    expect(scoreErrors(await column(changes), await column({})).all).toBeGreaterThan(0.001);
  });
});

describe('a guard that cannot be used', () => {
  const refusals: [guard: object, field: string, code?: string][] = [
    [{ methods: ['tokur'] }, 'methods[0]'],
    [{ methods: 'random' }, 'methods'],
    [{ methods: [] }, 'methods'],
    [{ scoring: { block: -8 } }, 'scoring.block'],
    [{ scoring: { window: 1e12 } }, 'scoring.window'],
    [{ scoring: { schedule: 'windowed' } }, 'scoring.schedule', 'unknown_parameter'],
    [{ scoring: { block: 8, window: 4 } }, 'scoring.window'],
    [{ scoring: { block: 65 } }, 'scoring.block'],
    [{ scoring: { alpha: 2 } }, 'scoring.alpha'],
    [{ scoring: { alpha: 'rms' } }, 'scoring.alpha'],
    [{ scoring: { alpha: 0 } }, 'scoring.alpha'],
    [{ scoring: { alpha: '0rms' } }, 'scoring.alpha'],
    [{ scoring: { alpha: '1e-4' } }, 'scoring.alpha'],
    [{ scoring: { alpha: 1e-12 } }, 'scoring.alpha'],
    [{ methods: ['adversarial'], scoring: { alpha: '1e6rms' } }, 'scoring.alpha'],
    [{ per: 'token' }, 'per'],
    [{ methods: ['nll'], method: 'adversarial' }, 'method'],
    [{ per: 'word' }, 'per'],
    [{ rate: 0 }, 'rate'],
    [{ rate: 1 }, 'rate'],
    [{ delivery: 'late' }, 'delivery'],
    [{ action: 'retry' }, 'action'],
    [{ candidates: 0 }, 'candidates'],
    [{ candidates: 17 }, 'candidates'],
    [{ max_rollbacks: 65 }, 'max_rollbacks'],
    [{ max_rollbacks: 1.5 }, 'max_rollbacks'],
  ];

  it.each(refusals)(
    'is refused by the name of its field: %j',
    async (guard, field, code = 'invalid_value') => {
      const expected = {
        code,
        param: `guard.${field}`,
        message: expect.stringContaining(`guard.${field}: `),
      };
      const response = await post(gateway.url, chatBody({ guard }));
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: expected });
      expect(await socketEvents(guard)).toMatchObject([{ type: 'error', error: expected }]);
    },
  );
});
