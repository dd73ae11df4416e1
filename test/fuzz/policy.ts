import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestSocket } from '../support/gateway.js';
import { ask, type GovernedGateway, governedGateway, type Key, keyOf } from '../support/governed-gateway.js';
import { type HostileRequest, hostileRequest } from '../support/hostile-requests.js';
import { DOUBTFUL, PROBES } from '../support/obliging-upstream.js';
import { exchange } from '../support/raw.js';
import type { Limits } from './limits.js';

/** Routes that the operator lists. */
const LISTED = /^(POST \/v1\/(embeddings|audio\/transcriptions)|(GET|POST|PUT|DELETE) \/v1\/thing)(\?|$)/;
const OWN = /^POST \/v1\/(chat\/completions|completions|responses)$/;

/** Of events that any key was told. */
const ids: string[] = [];

/** Everything that comes back, decoded where it could hide something. */
async function answerTo(url: string, request: HostileRequest, key: Key): Promise<string> {
  if (request.kind === 'http') return exchange(url, request.head, request.body);
  const socket = await TestSocket.open(url, { Authorization: `Bearer ${keyOf(key)}` });
  socket.send(request.fields);
  await socket.event(({ type }) =>
    ['generation.done', 'error', 'generation.cancelled', 'generation.resumed'].includes(type),
  );
  socket.close();
  return JSON.stringify(socket.events);
}

const others = (key: Key): RegExp => new RegExp(`key:(?!${key})\\w+`);

export function fuzzPolicy(limits: Limits): void {
  describe('a key with a locked guard, beside others', () => {
    let gateway: GovernedGateway;
    beforeAll(async () => {
      gateway = await governedGateway();
    });
    afterAll(() => gateway.close());

    it('policy', async () => {
      const request = (key: Key) => hostileRequest(keyOf(key), `key:${key} go`, () => ids);
      let [cases, answered] = [0, 0];
      const property = fc.asyncProperty(request('locked'), request('open'), async (locked, open) => {
        cases += 1;
        const [ofLocked, ofOpen, honest] = await Promise.all([
          answerTo(gateway.url, locked, 'locked'),
          answerTo(gateway.url, open, 'open'),
          ask(gateway.url, 'loose', 'chat/completions', 'calm', { stream: true, model: 'free' }).then(
            (each) => each.text(),
          ),
        ]);
        for (const [, id] of `${ofOpen}${honest}`.matchAll(/id: ([\w/-]+)/g))
          if (id && ids.length < 1000) ids.push(id);
        if (/ 200 OK/.test(ofLocked)) answered += 1;
        // More than the guard lets pass, another's words, or what was written for another.
        for (const word of Object.values(DOUBTFUL)) expect(ofLocked).not.toContain(word);
        expect(ofOpen).not.toContain(DOUBTFUL['theirs-too']);
        expect(ofLocked).not.toMatch(others('locked'));
        expect(ofOpen).not.toMatch(others('open'));
        expect(honest).not.toMatch(others('loose'));
        expect(honest).toContain('Then');
        // One message after the other, to nothing but what flinch and the operator name.
        for (const { faults, requests, acts } of [gateway.upstream, gateway.other]) {
          expect(faults).toEqual([]);
          const asked = requests.splice(0).map(({ method, target }) => `${method} ${target}`);
          expect(
            asked.filter((route) => !OWN.test(route) && !LISTED.test(route) && !PROBES.has(route)),
          ).toEqual([]);
          expect(acts).toEqual([]);
        }
      });
      await fc.assert(property, limits);
      console.info(
        `policy: ${cases} cases, of which ${answered} were answered to the locked key, seed ${limits.seed}`,
      );
      expect(answered).toBeGreaterThan(0);
    });
  });
}
