import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { finalize, firstValueFrom, lastValueFrom, take, tap, toArray } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, EMPTY_ANSWER, foldAnswer } from '#client/answer.js';
import { answerOf } from '#client/answer-of.js';
import { FlinchClient } from '#client/node.js';
import { readEvent } from '#client/protocol.js';
import { useFolder } from '../support/cli.js';
import { type Cut, cuttingProxy } from '../support/cutting-proxy.js';
import { useGateway } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { recorder } from '../support/recorded-model.js';
import { GUESSED_QUESTION } from '../support/requests.js';

const { written, wrap } = recorder(({ seed }) => seed);

const folder = useFolder();
const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.00015), {
  settings: { streams: { resume_s: 10 }, bounds: { heartbeatMs: 100 } },
  wrap,
});

function clientOf(url: string): FlinchClient {
  const client = new FlinchClient({ url, silenceMs: 400, backoff: { firstMs: 20, maxMs: 100 } });
  onTestFinished(() => client.close());
  return client;
}

const request = (seed: number) => ({
  model: 'reasoner',
  messages: [{ role: 'user' as const, content: GUESSED_QUESTION }],
  seed,
  temperature: 1,
  guard: {
    action: 'rollback' as const,
    rate: 0.5,
    max_rollbacks: 3,
    candidates: 2,
  },
});

/** What is to be known of an answer, of the events that the guard emitted for it. */
function answerWritten(seed: number): Answer {
  const events = (written.get(seed) ?? []).map((fields, index) =>
    readEvent(JSON.stringify({ ...fields, response_id: 'resp-1', offset: index + 1 })),
  );
  return events.reduce<Answer>((answer, event) => {
    if (event.type === 'unknown' || event.type === 'heartbeat') throw new Error(`a ${event.type}`);
    if (event.type === 'generation.resumed' || event.type === 'error') throw new Error(`a ${event.type}`);
    return foldAnswer(answer, event);
  }, EMPTY_ANSWER);
}

const known = ({ phase, tokens, steps, flags, rollbacks, usage }: Answer) =>
  JSON.parse(JSON.stringify({ phase, tokens, steps, flags, rollbacks, usage }));

describe('the client against the gateway', () => {
  it('ends with the very answer that was written, whatever is cut on the way, across retractions', async () => {
    const CUTS = 24;
    const random = xoroshiro128plus(7);
    const plan = (): Cut => {
      const loss = (['reset', 'reset', 'end', 'silence'] as const)[uniformInt(random, 0, 3)] ?? 'reset';
      return { afterBytes: uniformInt(random, 1, 6000), loss };
    };
    const proxy = await cuttingProxy(Number(new URL(gateway.url).port), { most: CUTS, plan });
    let replaced = 0;
    let seed = 0;
    const ask = async (client: FlinchClient): Promise<void> => {
      while (proxy.cuts < CUTS) {
        const own = seed++;
        const answer = await lastValueFrom(client.generate(request(own)).pipe(answerOf()));
        expect(answer.error).toBeNull();
        expect(known(answer)).toEqual(known(answerWritten(own)));
        replaced += answer.rollbacks.filter(({ outcome }) => outcome === 'replaced').length;
      }
    };
    // Over one connection what one answer has yet to tell could keep the other, each time, from its beginning.
    await Promise.all([ask(clientOf(proxy.url)), ask(clientOf(proxy.url))]);
    expect(proxy.cuts).toBe(CUTS);
    expect(replaced).toBeGreaterThan(0);
  });

  it('cancels what it no longer waits for, and ends what is left with it', async () => {
    const client = clientOf(gateway.url);
    await lastValueFrom(client.generate({ ...request(1000), max_completion_tokens: 200 }).pipe(take(5)));
    await gateway.idle();
    let ended = false;
    const rest = firstValueFrom(
      client.generate(request(1001)).pipe(
        tap(({ type }) => {
          if (type === 'token.delta') client.close();
        }),
        finalize(() => {
          ended = true;
        }),
        toArray(),
      ),
    );
    await expect(rest).rejects.toMatchObject({ name: 'FlinchError', code: 'client_closed' });
    expect(ended).toBe(true);
    await gateway.idle();
  });
});
