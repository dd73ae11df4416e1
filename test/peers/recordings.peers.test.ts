import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PeerServer } from '#lab/peers/server.js';
import { needsServer, startServer } from '../support/peers.js';
import { type Recorded, record, recordings, stable, writeRecording } from '../support/recordings.js';
import { VLLM, VLLM_REASONING, VLLM_REQUESTS } from '../support/vllm-recordings.js';

/** FLINCH_RECORD=1 writes what the server answers, instead of comparing it. */
const writes = process.env.FLINCH_RECORD === '1';

const { missing, reason } = needsServer('vllm', 'smollm2');

describe.skipIf(missing).each<[string, readonly string[], Readonly<Record<string, Recorded>>]>([
  ['vLLM', [], VLLM_REQUESTS],
  ['vLLM with a reasoning parser', ['--reasoning-parser', 'olmo3'], VLLM_REASONING],
])(`%s answers as was recorded${reason}`, (_name, args, requests) => {
  let server: PeerServer;
  beforeAll(async () => {
    server = await startServer('vllm', 'smollm2', args);
  });
  afterAll(() => server?.close());

  test.each(Object.entries(requests))('%s', async (name, request) => {
    const made = await record(new URL(server.url).origin, request);
    if (writes) return writeRecording(VLLM, name, made);
    expect(stable(made)).toBe(stable(recordings(VLLM)[name]!));
  });
});
