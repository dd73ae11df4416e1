import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PeerServer } from '#lab/peers/server.js';
import { LLAMA_CPP, LLAMA_CPP_SERVERS } from '../support/llama-cpp-recordings.js';
import { needsServer, startServer } from '../support/peers.js';
import { type Recording, record, recordings, stable, writeRecording } from '../support/recordings.js';

/** FLINCH_RECORD=1 writes what the server answers, instead of comparing it. */
const writes = process.env.FLINCH_RECORD === '1';

/** Without times, and without how much of a prompt was known from the test before. */
const withoutTimes = (made: Recording): Recording => ({
  ...made,
  body: made.body
    .replaceAll(/"timings":\{[^}]*?"predicted_n":(\d+)[^}]*\}/g, '"timings":{"predicted_n":$1}')
    .replaceAll(/"cached_tokens":\d+/g, '"cached_tokens":0'),
});

for (const { name, model, modelIsGone, args, requests } of LLAMA_CPP_SERVERS) {
  const { missing, reason } = needsServer('llama-cpp', model);
  const gone = modelIsGone === true && !writes;
  const why = gone ? ' (skipped: the recorded model is gone)' : reason;

  describe.skipIf(missing || gone)(`llama.cpp with ${name} answers as was recorded${why}`, () => {
    let server: PeerServer;
    beforeAll(async () => {
      server = await startServer('llama-cpp', model, ['--threads', '1', ...args]);
    });
    afterAll(() => server?.close());

    test.each(Object.entries(requests))('%s', async (name, request) => {
      const made = await record(new URL(server.url).origin, request);
      if (writes) return writeRecording(LLAMA_CPP, name, made);
      const known = recordings(LLAMA_CPP)[name]!;
      expect(stable(withoutTimes(made))).toBe(stable(withoutTimes(known)));
    });
  });
}
